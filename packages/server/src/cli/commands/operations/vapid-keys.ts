// `countersign vapid-keys`: a new pair of keys for browser notifications.
import type { Command } from 'commander';
import type { Output } from '../../print/output.ts';
import { type Action, withExamples } from '../options.ts';

export function addVapidKeys(program: Command, action: Action): void {
  const command = program
    .command('vapid-keys')
    .summary('print a new pair of keys for browser notifications')
    .description(
      'Prints the keys that webPush() takes. Keep the private key secret, and keep both: with other keys, people must turn notifications on again.',
    )
    .action(
      action(async (output: Output) => {
        const { default: library } = await import('web-push');
        const keys = library.generateVAPIDKeys();
        if (output.json) output.document(keys);
        else {
          output.line(`VAPID_PUBLIC_KEY=${keys.publicKey}`);
          output.line(`VAPID_PRIVATE_KEY=${keys.privateKey}`);
        }
        return undefined;
      }),
    );
  withExamples(command, ['countersign vapid-keys >> .env', 'keep them in the environment of the server']);
}
