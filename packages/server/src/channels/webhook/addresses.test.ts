import { describe, expect, test } from 'vitest';
import { type Allow, addressRule } from './addresses.ts';

const refusal = (address: string, allow?: Allow, url = 'https://hooks.example.com/') =>
  addressRule(allow)(new URL(url), address);

const PUBLIC = ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2a00:1450:4001::1', '::ffff:8.8.8.8', '64:ff9b::808:808'];
const LOCAL = [
  '127.0.0.1',
  '10.1.2.3',
  '172.31.255.255',
  '192.168.0.1',
  '100.64.0.1',
  '::1',
  'fd12::1',
  '::ffff:10.0.0.1',
];
const NEVER_PRIVATE = [
  ...['0.0.0.0', '0.1.2.3', '169.254.169.254', '169.254.0.1', '192.0.0.192', '192.0.2.1', '198.18.0.1', '224.0.0.1'],
  ...['240.0.0.1', '255.255.255.255', '168.63.129.16', '100.100.100.200', '::', 'fe80::1', 'fe80::1%eth0', 'ff02::1'],
  ...['fd00:ec2::254', 'fd20:ce::254', '2001:db8::1', '2002:7f00:1::', '2001::1', '::ffff:169.254.169.254', '::7f00:1'],
  ...['64:ff9b::a9fe:a9fe', '64:ff9b:1::a00:1', '::ffff:0:127.0.0.1', '64:ff9b::1', 'fec0::1', '100::1', '', 'x'],
];

describe('without `allow`', () => {
  test.each(PUBLIC)('%s is public', (address) => expect(refusal(address)).toBeUndefined());
  test.each([...LOCAL, ...NEVER_PRIVATE])('%s is refused', (address) => expect(refusal(address)).toBeTypeOf('string'));
  test.each(PUBLIC)('http to %s is refused', (address) =>
    expect(refusal(address, [], 'http://hooks.example.com/')).toContain('not encrypted'),
  );
});

describe('with `allow`', () => {
  test.each(LOCAL)('%s is private', (address) => {
    expect(refusal(address, 'private', 'http://x/')).toBeUndefined();
    expect(refusal(address, ['hooks.example.com'], 'http://hooks.example.com/')).toBeUndefined();
    expect(refusal(address, ['example.com', 'other.example.com'])).toBeTypeOf('string');
  });
  test.each(NEVER_PRIVATE)('%s is not private', (address) => {
    expect(refusal(address, 'private')).toBeTypeOf('string');
    expect(refusal(address, ['hooks.example.com'])).toBeTypeOf('string');
  });
  test.each([
    ['169.254.169.254', '169.254.0.0/16'],
    ['169.254.169.254', '169.254.169.254'],
    ['::ffff:10.0.0.1', '10.0.0.0/8'],
    ['64:ff9b::a00:1', '10.0.0.1'],
    ['fd00:ec2::254', 'fd00:ec2::/32'],
    ['fe80::1', 'fe80::/10'],
  ])('%s is in %s', (address, range) => {
    expect(refusal(address, [range], 'http://x/')).toBeUndefined();
    expect(refusal('127.0.0.1', [range])).toBeTypeOf('string');
  });
  test('http to a named host with a public address is allowed, and to others not', () => {
    expect(refusal('8.8.8.8', ['hooks.example.com.'], 'http://HOOKS.example.com/')).toBeUndefined();
    expect(refusal('8.8.8.8', 'private', 'http://hooks.example.com/')).toContain('not encrypted');
  });
});
