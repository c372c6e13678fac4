// Everyone who reaches the loopback address may use the agent.
import { none } from 'eve/channels/auth';
import { eveChannel } from 'eve/channels/eve';

export default eveChannel({ auth: [none()] });
