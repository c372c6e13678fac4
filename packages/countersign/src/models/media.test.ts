// Media: URLs as files and files as URLs.
import { expect, test } from 'vitest';
import { fileOf, urlOf } from './media.ts';

test.each([
  ['data:image/png;base64,AAAA', 'image/png', 'AAAA'],
  ['data:text/plain;charset=utf-8;base64,AAAA', 'text/plain', 'AAAA'],
  ['data:,hi%20there', 'text/plain', Buffer.from('hi there').toString('base64')],
  ['data:text/html;charset=utf-8,<b>ü</b>', 'text/html', Buffer.from('<b>ü</b>').toString('base64')],
  ['data:text/plain,100%', 'text/plain', Buffer.from('100%').toString('base64')],
])('%s is embedded', (url, mediaType, data) => {
  expect(fileOf({ url }, 'v3')).toEqual({ mediaType, data });
});

test.each([
  ['https://a.example/photo.JPG?size=2', 'image/jpeg'],
  ['https://a.example/paper.pdf', 'application/pdf'],
  ['https://a.example/v1.2/picture', 'image/*'],
])('%s has the media type %s', (url, mediaType) => {
  expect(fileOf({ url }, 'v3').mediaType).toBe(mediaType);
});

test('a content type that is given wins', () => {
  expect(fileOf({ url: 'https://a.example/x.png', contentType: 'image/webp' }, 'v4').mediaType).toBe('image/webp');
});

test.each([
  ['text', 'AAAA'],
  ['bytes', new Uint8Array([0, 0, 0])],
  ['a view of more bytes', new Uint8Array([9, 0, 0, 0, 9]).subarray(1, 4)],
  ['tagged text', { type: 'data', data: 'AAAA' }],
  ['tagged bytes', { type: 'data', data: new Uint8Array([0, 0, 0]) }],
])('%s of a model becomes a data URL', (_what, data) => {
  expect(urlOf({ mediaType: 'image/png', data })).toBe('data:image/png;base64,AAAA');
});

test('a link of a model stays a link', () => {
  const data = { type: 'url', url: new URL('https://a.example/x.png') };
  expect(urlOf({ mediaType: 'image/png', data })).toBe('https://a.example/x.png');
});
