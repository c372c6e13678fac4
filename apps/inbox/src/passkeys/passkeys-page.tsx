// The passkeys of the signed-in person: add, rename, revoke.

import { VisibleText } from '@countersign/react';
import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { request } from '../api/request.ts';
import { PageHeader } from '../frame/page-header.tsx';
import { exactly } from '../live/time.tsx';

type Passkey = {
  readonly id: string;
  readonly name: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
};
type Keys = { readonly items: readonly Passkey[] };
type Enrolment = {
  readonly options: PublicKeyCredentialCreationOptionsJSON;
  readonly confirm: PublicKeyCredentialRequestOptionsJSON | null;
};

const KEYS = ['me', 'passkeys'];

/** An earlier passkey of the person confirms the new one. */
async function enrol(name: string): Promise<void> {
  const { options, confirm } = await request<Enrolment>('me/passkeys/options', { method: 'POST' });
  const confirmation = confirm && (await startAuthentication({ optionsJSON: confirm }));
  const response = await startRegistration({ optionsJSON: options });
  const body = { name, response, ...(confirmation && { confirmation }) };
  await request('me/passkeys', { method: 'POST', body });
}

export default function PasskeysPage() {
  const client = useQueryClient();
  const { data, error } = useQuery({ queryKey: KEYS, queryFn: () => request<Keys>('me/passkeys') });
  const reload = () => client.invalidateQueries({ queryKey: KEYS });
  const add = useMutation({ mutationFn: enrol, onSettled: reload });
  const revoke = useMutation({
    mutationFn: (id: string) => request(`me/passkeys/${encodeURIComponent(id)}`, { method: 'DELETE' }),
    onSettled: reload,
  });
  const rename = useMutation({
    mutationFn: ({ id, name }: { readonly id: string; readonly name: string }) =>
      request(`me/passkeys/${encodeURIComponent(id)}`, { method: 'POST', body: { name } }),
    onSettled: reload,
  });
  const [name, setName] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== '') add.mutate(name.trim(), { onSuccess: () => setName('') });
  };
  const trouble = add.error ?? revoke.error ?? rename.error ?? error;
  return (
    <>
      <PageHeader title="Passkeys" />
      <div className="mx-auto flex w-full max-w-2xl flex-col gap-4 overflow-auto p-4">
        <p className="text-sm text-muted">
          Some requests ask you to sign your decision with a passkey. A revoked passkey cannot sign again; what it
          signed before still verifies.
        </p>
        {trouble && (
          <p role="alert" className="text-sm text-danger">
            {trouble.message}
          </p>
        )}
        <ul className="flex flex-col gap-2">
          {data?.items.map((key) => (
            <KeyRow
              key={key.id}
              passkey={key}
              onRename={(named) => rename.mutate({ id: key.id, name: named })}
              onRevoke={() => revoke.mutate(key.id)}
            />
          ))}
        </ul>
        <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
          <label className="flex min-w-0 flex-1 flex-col gap-1 text-sm">
            Name of the new passkey
            <input
              className="field"
              value={name}
              maxLength={100}
              placeholder="My laptop"
              onChange={({ target }) => setName(target.value)}
            />
          </label>
          <button type="submit" className="button" disabled={add.isPending || name.trim() === ''}>
            Add passkey
          </button>
        </form>
      </div>
    </>
  );
}

type KeyRowProps = {
  readonly passkey: Passkey;
  readonly onRename: (name: string) => void;
  readonly onRevoke: () => void;
};

function KeyRow({ passkey: { name, createdAt, revokedAt }, onRename, onRevoke }: KeyRowProps) {
  const [draft, setDraft] = useState<string>();
  const isRevoked = revokedAt !== null;
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (draft?.trim()) onRename(draft.trim());
    setDraft(undefined);
  };
  return (
    <li className="flex flex-wrap items-center gap-2 rounded-md border border-line p-3 text-sm">
      {draft === undefined ? (
        <span className="min-w-0 flex-1">
          <span className="font-medium">
            <VisibleText text={name} />
          </span>
          <span className="block text-xs text-muted">
            {isRevoked ? `Revoked ${exactly(revokedAt)}` : `Added ${exactly(createdAt)}`}
          </span>
        </span>
      ) : (
        <form onSubmit={save} className="flex min-w-0 flex-1 gap-2">
          <input
            aria-label="New name"
            className="field min-w-0 flex-1"
            value={draft}
            maxLength={100}
            onChange={({ target }) => setDraft(target.value)}
          />
          <button type="submit" className="button">
            Save
          </button>
        </form>
      )}
      {!isRevoked && draft === undefined && (
        <>
          <button type="button" className="button" onClick={() => setDraft(name)}>
            Rename
          </button>
          <button type="button" className="button" onClick={onRevoke}>
            Revoke
          </button>
        </>
      )}
    </li>
  );
}
