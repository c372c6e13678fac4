// The files of a preview: images, small tables, and downloads. Nothing in a file can run, and nothing is fetched from elsewhere.
import { isFileType, isImage, type PreviewFile } from 'countersign/request';
import { useFileUrl, useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from '../text/visible-text.tsx';
import { rowsOfCsv } from './csv.ts';
import { TextTable } from './text-table.tsx';

type FilesProps = { readonly requestId: string; readonly files: readonly PreviewFile[] };

export function PreviewFiles({ requestId, files }: FilesProps) {
  const named = useNamed();
  const words = useWords();
  return (
    <ul {...named('files')} aria-label={words.files}>
      {files.map((file) => (
        <li key={`${file.sha256} ${file.name}`} {...named('file')} data-type={file.mediaType}>
          <FileView requestId={requestId} file={file} />
        </li>
      ))}
    </ul>
  );
}

function FileView({ requestId, file }: { readonly requestId: string; readonly file: PreviewFile }) {
  const named = useNamed();
  const words = useWords();
  const urlOf = useFileUrl();
  const url = file.data === undefined ? urlOf?.(requestId, file.sha256) : dataUrl(file);
  const { name, size, data } = file;
  if (url === undefined || !isFileType(file.mediaType))
    return (
      <span {...named('file-missing')}>
        <VisibleText text={name} /> {words.fileMissing}
      </span>
    );
  const rows = file.mediaType === 'text/csv' && data !== undefined ? rowsOfCsv(data) : undefined;
  return (
    <>
      {isImage(file) && <img {...named('file-image')} src={url} alt={name} />}
      {rows && <TextTable rows={rows} label={name} />}
      <a {...named('file-link')} href={url} download={name}>
        <VisibleText text={name} />
      </a>{' '}
      <span {...named('file-size')}>{words.fileSize(size)}</span>
    </>
  );
}

/** Only of types that are shown, and only base64. */
function dataUrl({ mediaType, data = '' }: PreviewFile): string | undefined {
  return isFileType(mediaType) && /^[A-Za-z0-9+/]*={0,2}$/.test(data) ? `data:${mediaType};base64,${data}` : undefined;
}
