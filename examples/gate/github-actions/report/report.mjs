// The step that reports. A step that was skipped did nothing; one that failed or was cancelled may have acted.
import { input, refused, request, run, say } from '../ask/ask.mjs';

const REPORTS = {
  success: () => ({ output: JSON.parse(input('output') || 'true') }),
  failure: () => ({ error: 'The step failed.' }),
  cancelled: () => ({ error: 'The step was cancelled.' }),
  skipped: () => ({ error: 'The step was skipped.', notPerformed: true }),
};

await run(async () => {
  if (input('start') === '') return say('notice', 'Nothing to report: this job did not get the start.');
  const report = REPORTS[input('outcome')];
  if (!report) throw new Error(`\`outcome\` of the step must be one of ${Object.keys(REPORTS).join(', ')}.`);
  const answer = await request(`/${input('run')}/result`, { token: input('start'), ...report() });
  if (answer.status !== 200) throw refused(answer, 'The report was refused');
  say('notice', `Reported: the call is ${answer.body.status}.`);
});
