// The menu of the signed-in user: colours, help, notices, passkeys, absence, sign out.
import { Menu } from '@base-ui/react/menu';
import { VisibleText } from '@countersign/react';
import { useQuery } from '@tanstack/react-query';
import { Bell, BellRing, CalendarOff, Check, CircleQuestionMark, KeyRound, LogOut, Snowflake } from 'lucide-react';
import { mount } from '../api/mount.ts';
import { meQuery } from '../api/queries.ts';
import { setNotifiesHere, useNotifiesHere } from '../notify/choice.ts';
import { hasWorker } from '../notify/worker.ts';
import { Popup } from '../primitives/choice-menu.tsx';
import { useMayFreeze } from './freezes.tsx';
import { openFreeze, openHelp } from './overlays.ts';
import { ThemeChoices } from './theme.tsx';

type AccountMenuProps = {
  /** Only the initial, where there is little room. */
  readonly isSmall?: boolean;
};

export function AccountMenu({ isSmall = false }: AccountMenuProps) {
  const { data: me } = useQuery(meQuery);
  const mayFreeze = useMayFreeze();
  const name = me ? me.name || me.id : '';
  const model = me && (me.demo ? 'Stand-in model' : me.model);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger
        className={`flex min-w-0 items-center gap-2 rounded-md p-1.5 text-left hover:bg-sunken data-popup-open:bg-sunken ${isSmall ? 'max-md:size-11 max-md:justify-center' : 'w-full'}`}
      >
        <span className="sr-only">Account:{isSmall && ` ${name}`}</span>
        <span
          aria-hidden="true"
          className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft text-xs font-semibold text-accent uppercase"
        >
          {[...name][0] ?? '?'}
        </span>
        {!isSmall && (
          <span className="hidden min-w-0 flex-1 flex-col text-xs lg:flex">
            <span className="truncate font-medium">
              <VisibleText text={name} />
            </span>
            <span className="truncate text-muted">{model}</span>
          </span>
        )}
      </Menu.Trigger>
      <Popup align="end" side={isSmall ? 'bottom' : 'top'}>
        <div className="border-b border-line px-2 pt-1 pb-2 text-xs">
          <p className="max-w-56 truncate font-medium">
            <VisibleText text={name} />
          </p>
          <p className="max-w-56 truncate text-muted">
            {me?.demo ? 'Stand-in model: no API key is set, so it only picks tools by your words.' : model}
          </p>
        </div>
        <div className="border-b border-line py-1">
          <ThemeChoices />
        </div>
        <div className="pt-1">
          <Menu.Item className="menu-item" onClick={openHelp}>
            <CircleQuestionMark aria-hidden="true" className="size-4 text-muted" />
            Help
            <kbd className="key ml-auto max-md:hidden">?</kbd>
          </Menu.Item>
          {mayFreeze && (
            <Menu.Item className="menu-item md:hidden" onClick={openFreeze}>
              <Snowflake aria-hidden="true" className="size-4 text-muted" />
              Freeze…
            </Menu.Item>
          )}
          <Menu.LinkItem className="menu-item" href={new URL('notices', mount).href}>
            <Bell aria-hidden="true" className="size-4 text-muted" />
            Notices
          </Menu.LinkItem>
          {hasWorker && <NotificationSwitch />}
          <Menu.LinkItem className="menu-item" href={new URL('passkeys', mount).href}>
            <KeyRound aria-hidden="true" className="size-4 text-muted" />
            Passkeys
          </Menu.LinkItem>
          <Menu.LinkItem className="menu-item" href={new URL('away', mount).href}>
            <CalendarOff aria-hidden="true" className="size-4 text-muted" />
            Away
          </Menu.LinkItem>
          {/* A page of the server, which asks first. */}
          <Menu.LinkItem className="menu-item" href={new URL('logout', mount).href}>
            <LogOut aria-hidden="true" className="size-4 text-muted" />
            Sign out
          </Menu.LinkItem>
        </div>
      </Popup>
    </Menu.Root>
  );
}

function NotificationSwitch() {
  const isOn = useNotifiesHere();
  return (
    <Menu.CheckboxItem
      className="menu-item"
      checked={isOn}
      onCheckedChange={(isWanted) => void setNotifiesHere(isWanted)}
    >
      <BellRing aria-hidden="true" className="size-4 text-muted" />
      Notifications here
      <Menu.CheckboxItemIndicator className="ml-auto text-accent">
        <Check aria-hidden="true" className="size-4" />
      </Menu.CheckboxItemIndicator>
    </Menu.CheckboxItem>
  );
}
