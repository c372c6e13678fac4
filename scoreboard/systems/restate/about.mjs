// Restate alone: a workflow that waits for a durable promise.
export const about = {
  name: 'Restate',
  packages: ['@restatedev/restate-sdk', '@restatedev/restate-server'],
  store: 'its own server',
  keeps: 'its server has it',
  needs: 'restate',
  skips: { stall: 'not tried: its server needs a load balancer to reach a second process' },
};
