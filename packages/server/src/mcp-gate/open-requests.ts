// The open requests of one side of a connection, under ids of our own: nobody else's ids and progress tokens ever reach the other side.
import { randomUUID } from 'node:crypto';
import { metaOf, type Params, progressTokenOf, type RequestId, type RpcRequest, type RpcResponse } from './messages.ts';

type OpenRequest = {
  /** The id that the side gave it; undefined for requests of the gateway. */
  readonly id: RequestId | undefined;
  readonly token: RequestId | undefined;
  /** Takes the response, which is not passed on then. */
  readonly settle: ((response: RpcResponse) => void) | undefined;
  /** Changes the response before the side gets it. */
  readonly change: ((response: RpcResponse) => RpcResponse) | undefined;
  /** How much progress the side was told before the other side counted. */
  readonly told: () => number;
};

/** The oldest requests are forgotten beyond this: a side may leave requests open for ever. */
const MOST_OPEN = 10_000;
const SUBSCRIPTION_KEY = 'io.modelcontextprotocol/subscriptionId';

export class OpenRequests {
  readonly #open = new Map<RequestId, OpenRequest>();
  readonly #ours = new Map<RequestId, RequestId>();

  /** The request as the other side gets it. */
  open(
    { id, ...request }: Omit<RpcRequest, 'id'> & { readonly id?: RequestId },
    { settle, change, told = () => 0 }: Partial<Pick<OpenRequest, 'settle' | 'change' | 'told'>> = {},
  ): RpcRequest {
    // No client of the same server can guess the id of another one's request.
    const ours = randomUUID();
    const token = progressTokenOf(request);
    this.#open.set(ours, { id, token, settle, change, told });
    if (id !== undefined) this.#ours.set(id, ours);
    for (const oldest of this.#open.keys()) {
      if (this.#open.size <= MOST_OPEN) break;
      this.close(oldest);
    }
    if (token === undefined) return { ...request, id: ours };
    const { params } = request;
    return { ...request, id: ours, params: { ...params, _meta: { ...metaOf(params), progressToken: ours } } };
  }

  close(ours: RequestId): OpenRequest | undefined {
    const found = this.#open.get(ours);
    this.#open.delete(ours);
    if (found?.id !== undefined && this.#ours.get(found.id) === ours) this.#ours.delete(found.id);
    return found;
  }

  /** Our id of an open request. */
  idOf(id: unknown): RequestId | undefined {
    return this.#ours.get(id as RequestId);
  }

  /** The response as the side gets it. Undefined if the gateway takes it, or nobody waits for it. */
  response(response: RpcResponse): RpcResponse | undefined {
    const found = this.close(response.id);
    if (found?.settle) found.settle(response);
    if (found?.id === undefined || found.settle) return undefined;
    const told = { ...response, id: found.id };
    return found.change ? found.change(told) : told;
  }

  /** Progress as the side gets it: it has to rise, so it starts where ours has ended. Undefined if it did not ask for it. */
  progress(params: Params): Params | undefined {
    const found = this.#open.get(params.progressToken as RequestId);
    if (found?.token === undefined) return undefined;
    const { progress, total } = params;
    const further = (value: unknown) => (typeof value === 'number' ? value + found.told() : value);
    return {
      ...params,
      progressToken: found.token,
      progress: further(progress),
      ...(total !== undefined && { total: further(total) }),
    };
  }

  /** Names the subscription of a notification by the id of the side. */
  subscribed(params: Params): Params {
    const { [SUBSCRIPTION_KEY]: ours } = metaOf(params);
    const id = this.#open.get(ours as RequestId)?.id;
    return id === undefined ? params : { ...params, _meta: { ...metaOf(params), [SUBSCRIPTION_KEY]: id } };
  }
}
