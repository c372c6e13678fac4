// Pushes: notifications while the inbox is closed, if the server has a channel for them.
import { queryOf, request } from '../api/request.ts';
import { worker } from './worker.ts';

type Push = { readonly publicKey: string | null };

/** Resolves with false if the server does not push. The browser may belong to another person from now on. */
export async function subscribe(): Promise<boolean> {
  const { publicKey } = await request<Push>('me/push');
  if (publicKey === null) return false;
  const { pushManager } = await worker();
  const subscription = await subscriptionWith(pushManager, publicKey);
  await request('me/push', { method: 'POST', body: subscription.toJSON() });
  return true;
}

export async function unsubscribe(): Promise<void> {
  const subscription = await (await worker()).pushManager.getSubscription();
  if (!subscription) return;
  await subscription.unsubscribe();
  await request(`me/push${queryOf({ endpoint: subscription.endpoint })}`, { method: 'DELETE' });
}

/** A subscription is bound to one key. After the server got another, a new one is made. */
async function subscriptionWith(pushManager: PushManager, publicKey: string): Promise<PushSubscription> {
  const options = { userVisibleOnly: true, applicationServerKey: publicKey };
  try {
    return await pushManager.subscribe(options);
  } catch (error) {
    const earlier = await pushManager.getSubscription();
    if (!earlier) throw error;
    await earlier.unsubscribe();
    return pushManager.subscribe(options);
  }
}
