// The files of a preview on a card: it names them, and the server gives their bytes at an address of their own.
import type { RunRequest } from 'countersign';
import type { Preview, PreviewFile } from 'countersign/request';

/** Larger tables are downloads. */
const SMALL_TABLE = 10_000;

/** The preview as a card has it: with the bytes of small tables only. */
export function withoutBytes(preview: Preview | null): Preview | null {
  if (preview === null || 'failed' in preview || !preview.files) return preview;
  return { ...preview, files: preview.files.map(lightFile) };
}

function lightFile({ data, ...file }: PreviewFile): PreviewFile {
  const isShown = file.mediaType === 'text/csv' && file.size <= SMALL_TABLE;
  return { ...file, ...(isShown && data !== undefined && { data }) };
}

/** Every file that a request shows. */
export function filesOn({
  preview,
  earlierPreview,
}: Partial<Pick<RunRequest, 'preview' | 'earlierPreview'>>): readonly PreviewFile[] {
  return [preview, earlierPreview].flatMap((one) => (one && 'files' in one ? (one.files ?? []) : []));
}
