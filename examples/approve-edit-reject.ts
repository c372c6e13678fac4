// A gated tool: its body is out of reach until a person approves the call, edits it, or rejects it with a reason.
// Run it with: node examples/approve-edit-reject.ts
import { countersign, type ModelInput, z } from 'countersign';
import { scriptedModel } from 'countersign/testing';
import { type Terminal, terminal } from './terminal.ts';

type Email = { readonly to: string; readonly subject: string };

export async function approveEditReject(model: ModelInput, { ask, print }: Terminal) {
  const ai = countersign({ model });
  const outbox: Email[] = [];

  const sendEmail = ai.defineTool(
    {
      name: 'sendEmail',
      description: 'Sends an email.',
      inputSchema: z.object({ to: z.email(), subject: z.string() }),
      needsApproval: ({ to }) => !to.endsWith('@example.com') && { message: `${to} is outside the company.` },
    },
    (email) => {
      outbox.push(email);
      return { sent: true };
    },
  );

  let response = await ai.generate({ tools: [sendEmail], prompt: 'Tell Ann, Bob and Eve that the fair is in May.' });

  while (response.interrupts.length > 0) {
    const approve = [];
    const reject = [];
    for (const interrupt of response.interrupts) {
      const email: Email = interrupt.toolRequest.input;
      const answer = await ask(`Send "${email.subject}" to ${email.to}?`, ['approve', 'edit', 'reject']);
      if (answer === 'approve') approve.push(sendEmail.approve(interrupt, { by: 'ann' }));
      else if (answer === 'edit') {
        const subject = await ask('What should the subject be?', [`${email.subject} (in May)`]);
        approve.push(sendEmail.approve(interrupt, { by: 'ann', edit: { ...email, subject } }));
      } else reject.push(sendEmail.reject(interrupt, await ask('Why not?', ['They know already.']), { by: 'ann' }));
    }
    response = await ai.generate({
      tools: [sendEmail],
      messages: response.messages,
      resume: { approve, reject },
    });
  }

  print(response.text);
  for (const { to, subject } of outbox) print(`Sent to ${to}: ${subject}`);
  return { outbox, response };
}

export const fairScript = () =>
  scriptedModel([
    {
      calls: ['ann@example.com', 'bob@fair.test', 'eve@fair.test'].map((to) => ({
        name: 'sendEmail',
        input: { to, subject: 'The fair' },
      })),
    },
    ({ messages }) => {
      const results = messages.at(-1)?.content ?? [];
      const refused = results.filter((part) => part.metadata?.outcome === 'rejected').length;
      return `Sent: ${results.length - refused}. Rejected by you: ${refused}.`;
    },
  ]);

if (import.meta.main) await approveEditReject(fairScript(), terminal);
