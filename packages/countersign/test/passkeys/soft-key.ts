// A passkey in software: makes the registrations and assertions that a browser would send.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import type { Json } from 'countersign';

export const ORIGIN = 'https://approvals.example.com';
export const RP_ID = 'approvals.example.com';

const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();

const USER_PRESENT = 1;
const USER_VERIFIED = 4;
const HAS_KEY = 64;

export function softKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const id = randomBytes(16).toString('base64url');
  // A COSE key: EC2, ES256, P-256, and the two coordinates of 32 bytes.
  const cose = Buffer.concat([
    Buffer.from([0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 32]),
    Buffer.from(x, 'base64url'),
    Buffer.from([0x22, 0x58, 32]),
    Buffer.from(y, 'base64url'),
  ]);
  return {
    passkey: { id, name: 'laptop', publicKey: cose.toString('base64url'), transports: ['internal'] },
    /** The registration that `startRegistration` returns, without an attestation. */
    register(challenge: string, { origin = ORIGIN, rpId = RP_ID }: SignOptions = {}) {
      const client = JSON.stringify({ type: 'webauthn.create', challenge, origin, crossOrigin: false });
      const flags = Buffer.from([USER_PRESENT | USER_VERIFIED | HAS_KEY, 0, 0, 0, 0]);
      const model = Buffer.alloc(16);
      const data = Buffer.concat([
        sha256(rpId),
        flags,
        model,
        Buffer.from([0, 16]),
        Buffer.from(id, 'base64url'),
        cose,
      ]);
      // CBOR: { fmt: 'none', attStmt: {}, authData }.
      const attestationObject = Buffer.concat([
        Buffer.from('\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58', 'latin1'),
        Buffer.from([data.length]),
        data,
      ]).toString('base64url');
      const clientDataJSON = Buffer.from(client).toString('base64url');
      const response = { clientDataJSON, attestationObject };
      return { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response };
    },
    /** `type`, `response`, `origin` and `rpId`, as a server passes them to the engine. */
    sign(challenge: string, { origin = ORIGIN, rpId = RP_ID, verified = true, nonce }: SignOptions = {}): Json {
      const client = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin, crossOrigin: false }));
      const flags = USER_PRESENT | (verified ? USER_VERIFIED : 0);
      const authenticator = Buffer.concat([sha256(rpId), Buffer.from([flags, 0, 0, 0, 0])]);
      const signature = sign('sha256', Buffer.concat([authenticator, sha256(client)]), privateKey);
      const response = {
        clientDataJSON: client.toString('base64url'),
        authenticatorData: authenticator.toString('base64url'),
        signature: signature.toString('base64url'),
      };
      return {
        type: 'passkey',
        response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
        origin: ORIGIN,
        rpId: RP_ID,
        ...(nonce !== undefined && { nonce }),
      };
    },
  };
}

type SignOptions = {
  readonly origin?: string;
  readonly rpId?: string;
  readonly verified?: boolean;
  readonly nonce?: string;
};
