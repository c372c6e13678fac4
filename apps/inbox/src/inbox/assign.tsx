// Assigns the open request to a person, who should decide it. Others still may.
import { Menu } from '@base-ui/react/menu';
import { VisibleText } from '@countersign/react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { UserRound, UserRoundCheck, UserRoundPlus, UserRoundX } from 'lucide-react';
import { type FormEvent, useId, useState } from 'react';
import { meQuery, requestQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import type { ApiRequest, RequestWithMessages } from '../api/wire.ts';
import { Popup } from '../primitives/choice-menu.tsx';
import { Modal } from '../primitives/modal.tsx';
import { showToast } from '../primitives/toasts.tsx';

/** The server takes no longer names. */
const LONGEST = 200;
/** So many people of the policy are offered by name. */
const OFFERED = 8;

function useAssign({ id }: ApiRequest) {
  const client = useQueryClient();
  const { queryKey } = requestQuery(id);
  return useMutation({
    mutationFn: (to: string | null) =>
      request<ApiRequest>(`requests/${encodeURIComponent(id)}/assignee`, { method: 'POST', body: { to } }),
    onSuccess: (assigned, to) => {
      client.setQueryData<RequestWithMessages>(queryKey, (card) => card && { ...card, ...assigned });
      void client.invalidateQueries({ queryKey: ['requests'] });
      showToast('done', to === null ? 'Assigned to nobody.' : `Assigned to ${to}.`);
    },
    onError: () => void client.invalidateQueries({ queryKey }),
  });
}

export function AssignMenu({ request }: { readonly request: ApiRequest }) {
  const { data: me } = useQuery(meQuery);
  const [isNaming, setNaming] = useState(false);
  const assign = useAssign(request);
  const assignee = request.assignee?.until === null ? request.assignee.person : null;
  const send = (to: string | null) => assign.mutate(to, { onError: ({ message }) => showToast('trouble', message) });
  const others = namedBy(request).filter((person) => person !== me?.id && person !== assignee);
  return (
    <>
      <Menu.Root modal={false}>
        <Menu.Trigger className="button max-w-40 min-w-0 max-md:px-2.5">
          {assignee === null ? (
            <UserRoundPlus aria-hidden="true" className="size-4 shrink-0" />
          ) : (
            <UserRoundCheck aria-hidden="true" className="size-4 shrink-0 text-info" />
          )}
          <span className="truncate max-md:sr-only">
            {assignee === null ? 'Assign' : <Assignee assignee={assignee} isMe={assignee === me?.id} />}
          </span>
        </Menu.Trigger>
        <Popup align="end">
          {me && assignee !== me.id && (
            <Menu.Item className="menu-item" onClick={() => send(me.id)}>
              <UserRoundCheck aria-hidden="true" className="size-4 text-muted" />
              Assign to me
            </Menu.Item>
          )}
          {others.map((person) => (
            <Menu.Item key={person} className="menu-item" onClick={() => send(person)}>
              <UserRound aria-hidden="true" className="size-4 shrink-0 text-muted" />
              <span className="max-w-56 truncate">
                Assign to <VisibleText text={person} />
              </span>
            </Menu.Item>
          ))}
          <Menu.Item className="menu-item" onClick={() => setNaming(true)}>
            <UserRoundPlus aria-hidden="true" className="size-4 text-muted" />
            Assign to somebody…
          </Menu.Item>
          {assignee !== null && (
            <Menu.Item className="menu-item" onClick={() => send(null)}>
              <UserRoundX aria-hidden="true" className="size-4 text-muted" />
              Release
            </Menu.Item>
          )}
        </Popup>
      </Menu.Root>
      <Modal title="Assign this request" isOpen={isNaming} onOpenChange={setNaming} className="max-w-md">
        <NameForm assign={assign} onDone={() => setNaming(false)} />
      </Modal>
    </>
  );
}

function Assignee({ assignee, isMe }: { readonly assignee: string; readonly isMe: boolean }) {
  return (
    <>
      <span className="sr-only">Assigned to </span>
      {isMe ? 'you' : <VisibleText text={assignee} />}
    </>
  );
}

type NameFormProps = { readonly assign: ReturnType<typeof useAssign>; readonly onDone: () => void };

function NameForm({ assign, onDone }: NameFormProps) {
  const [name, setName] = useState('');
  const id = useId();
  const to = name.trim();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (to !== '' && !assign.isPending) assign.mutate(to, { onSuccess: onDone });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3 px-5 py-4">
      <p className="text-muted">It says who should decide. Others still may.</p>
      <label className="flex flex-col gap-1" htmlFor={id}>
        <span className="text-xs text-muted">Person</span>
        <input
          id={id}
          className="field"
          value={name}
          maxLength={LONGEST}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="The name that they sign in with"
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      {assign.error && (
        <p role="alert" className="text-danger wrap-anywhere">
          <VisibleText text={assign.error.message} />
        </p>
      )}
      <div className="flex justify-end">
        <button type="submit" className="button-primary" aria-disabled={to === '' || assign.isPending}>
          Assign
        </button>
      </div>
    </form>
  );
}

/** The people whom the policy names. Whom its roles mean, only the server knows. */
function namedBy({ policies, progress }: ApiRequest): readonly string[] {
  const circles = policies.flatMap(({ deciders, quorum = [] }) => [deciders, ...quorum.map(({ of }) => of)]);
  const named = [...circles, ...(progress?.escalatedTo ?? [])];
  return [...new Set(named.flatMap((who) => who?.people ?? []))].slice(0, OFFERED);
}
