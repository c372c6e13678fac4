// The files of a preview: a card names them, and their bytes have an address of their own.
import { z } from '@hono/zod-openapi';
import { UsageError } from 'countersign';
import { isFileType, isImage, type PreviewFile } from 'countersign/request';
import { endpoint } from '../http/endpoint.ts';
import { filesOn } from '../preview-files.ts';
import { requestIdShape } from '../schemas/request.ts';
import type { Services } from './services.ts';

export function fileEndpoints({ ai, access }: Pick<Services, 'ai' | 'access'>) {
  return [
    endpoint({
      route: 'GET /requests/{requestId}/files/{sha256}',
      operationId: 'getRequestFile',
      summary: 'Get a file that the preview of a request shows',
      tag: 'Requests',
      scope: 'read',
      params: z.object({ requestId: requestIdShape, sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
      answers: { 200: { description: 'The bytes.', shape: z.string(), type: 'application/octet-stream' } },
      handle: async ({ params: { requestId, sha256 }, person }) => {
        // Throws if this person cannot see the request.
        await access.request(requestId, person);
        const file = filesOn(await ai.runs.request(requestId)).find((one) => one.sha256 === sha256);
        const bytes = file && isFileType(file.mediaType) && (await ai.runs.file(requestId, sha256));
        if (bytes) return fileResponse(file, bytes);
        throw new UsageError('not-found', { status: 404, requestId, sha256 }, `Request ${requestId} has no such file.`);
      },
    }),
  ];
}

/** Images are shown on the card; everything else is saved. Nothing in a file can run. */
function fileResponse(file: PreviewFile, bytes: Uint8Array): Response {
  const { name, mediaType } = file;
  const how = isImage(file) ? 'inline' : 'attachment';
  return new Response(new Uint8Array(bytes), {
    headers: {
      'content-type': mediaType,
      'content-disposition': `${how}; filename*=UTF-8''${encodeURIComponent(name)}`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
      'cache-control': 'private, no-store',
    },
  });
}
