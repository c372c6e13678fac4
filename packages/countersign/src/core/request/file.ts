// A file that a preview shows, such as an invoice. Its hash is in the record, so the digest covers what a person has seen.

export const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'] as const;

/** Nothing that a browser could run: no HTML, no SVG. */
export const FILE_TYPES = [...IMAGES, 'application/pdf', 'text/csv', 'text/plain'] as const;

export type FileType = (typeof FILE_TYPES)[number];

export type PreviewFile = {
  readonly name: string;
  readonly mediaType: FileType;
  /** In bytes. */
  readonly size: number;
  /** SHA-256 of the bytes, in hexadecimal. */
  readonly sha256: string;
  /** The bytes in base64. Absent for larger files, which the store keeps, and where a server gives them at an address of their own. */
  readonly data?: string;
};

export const isFileType = (type: unknown): type is FileType => (FILE_TYPES as readonly unknown[]).includes(type);

export const isImage = ({ mediaType }: Pick<PreviewFile, 'mediaType'>): boolean =>
  (IMAGES as readonly string[]).includes(mediaType);
