// An HTTP client that costs less than `fetch`, so that long campaigns spend their time in the server. It sends paths unchanged.
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import type { FuzzRequest } from './requests.ts';

export type FuzzResponse = { readonly status: number; readonly type: string; readonly text: string };

export type FuzzClient = {
  /**
   * Rejects if no whole response came within ten seconds, or what the request may wait on top. A stream is answered once it begins,
   * and left.
   */
  send(request: FuzzRequest): Promise<FuzzResponse>;
  close(): void;
};

const DEADLINE_S = 10;
const LONGEST_WAIT_S = 60;

export function fuzzClient(port: number, token: string): FuzzClient {
  const kept = new Agent({ keepAlive: true });

  function once({ method, path, headers, body }: FuzzRequest, agent: Agent | false): Promise<FuzzResponse> {
    return new Promise((resolve, reject) => {
      const sent = httpRequest({
        host: '127.0.0.1',
        port,
        agent,
        method,
        path,
        // Without a length, Node sends the body of a DELETE as if it were the next request.
        headers: {
          authorization: `Bearer ${token}`,
          ...headers,
          ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
        },
      });
      const mostSeconds = DEADLINE_S + (/\bwait\b/.test(path + body) ? LONGEST_WAIT_S : 0);
      let seconds = 0;
      // Counted, so that a machine that stands still for a while counts as one second.
      const deadline = setInterval(() => {
        seconds += 1;
        if (seconds > mostSeconds) sent.destroy(new Error(`no whole response in ${mostSeconds} s`));
      }, 1_000);
      const refuse = (error: Error) => {
        clearInterval(deadline);
        reject(error);
      };
      sent.on('error', refuse);
      sent.on('response', (response: IncomingMessage) => {
        const { statusCode: status = 0, headers: received } = response;
        const type = received['content-type'] ?? '';
        let text = '';
        const answer = () => {
          clearInterval(deadline);
          resolve({ status, type, text });
        };
        if (type.startsWith('text/event-stream')) {
          answer();
          response.on('error', () => undefined).destroy();
          return;
        }
        response.setEncoding('utf8');
        response.on('data', (piece: string) => {
          text += piece;
        });
        response.on('end', answer);
        response.on('error', refuse);
      });
      sent.end(body);
    });
  }

  return {
    // The server may close an idle connection at the moment when a request is sent on it: the second try is on a new one.
    send: (request) =>
      once(request, kept).catch((error) => (isCutOff(error) ? once(request, false) : Promise.reject(error))),
    close: () => kept.destroy(),
  };
}

const isCutOff = (error: NodeJS.ErrnoException): boolean => /^(?:ECONNRESET|EPIPE)$/.test(error.code ?? '');
