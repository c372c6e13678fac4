// Where the values of the input came from: quietly, and loudly where an untrusted one reached a sensitive field.
import { type FieldOrigin, isAlarming, labelsTo, lineOf } from 'countersign/request';
import type { RequestCard } from 'countersign/ui';
import { useNamed, useWords } from '../appearance.tsx';
import { VisibleText } from '../text/visible-text.tsx';

type AnyCard = RequestCard<string, any>;

/** Above the input. Nothing for other requests. */
export function OriginWarning({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  // A server of an older version does not send them.
  const alarming = (request.origins ?? []).filter(isAlarming);
  if (alarming.length === 0) return null;
  return (
    <section {...named('origin-warning')} aria-label={words.originWarning}>
      <p {...named('origin-warning-caption')}>{words.originWarning}</p>
      <OriginList request={request} origins={alarming} />
    </section>
  );
}

/** Below the input, folded. */
export function OriginDetails({ request }: { readonly request: AnyCard }) {
  const named = useNamed();
  const words = useWords();
  const { origins = [] } = request;
  if (origins.length === 0) return null;
  return (
    <details {...named('origins')}>
      <summary {...named('origins-summary')}>{words.origins}</summary>
      <OriginList request={request} origins={origins} />
    </details>
  );
}

function OriginList({ request, origins }: { readonly request: AnyCard; readonly origins: readonly FieldOrigin[] }) {
  const named = useNamed();
  const words = useWords();
  const line = lineOf(request.input, request.inputSchema);
  const labelOf = ({ field }: FieldOrigin): string => (labelsTo(line, field) ?? field).join(' › ') || words.otherValues;
  return (
    <dl {...named('origin-list')}>
      {origins.map((origin) => (
        <div key={JSON.stringify(origin.field)} {...named('origin')} data-origin={origin.from}>
          <dt>
            <VisibleText text={labelOf(origin)} />
          </dt>
          <dd>
            <VisibleText text={words.origin(origin)} />
          </dd>
        </div>
      ))}
    </dl>
  );
}
