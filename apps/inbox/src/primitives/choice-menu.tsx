// A button that opens a menu with one choice out of several.
import { Menu } from '@base-ui/react/menu';
import { Check, ChevronDown } from 'lucide-react';
import type { ReactNode } from 'react';

export type Choice = { readonly value: string; readonly label: string };

type ChoiceMenuProps = {
  /** The name of the choice, such as “Tool”. */
  readonly label: string;
  readonly value: string;
  readonly choices: readonly Choice[];
  readonly onChange: (value: string) => void;
  readonly className?: string;
  readonly isActive?: boolean;
  /** In place of the label and the chosen value. */
  readonly children?: ReactNode;
};

export function ChoiceMenu(props: ChoiceMenuProps) {
  const { label, value, choices, onChange, className = 'button', isActive = false, children } = props;
  const chosen = choices.find((choice) => choice.value === value);
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger className={className} data-active={isActive} aria-label={`${label}: ${chosen?.label ?? value}`}>
        {children ?? (
          <>
            <span className="truncate">{chosen?.label ?? value}</span>
            <ChevronDown aria-hidden="true" className="size-3.5 shrink-0 text-muted" />
          </>
        )}
      </Menu.Trigger>
      <Popup>
        <Choices {...{ label, value, choices, onChange }} />
      </Popup>
    </Menu.Root>
  );
}

type ChoicesProps = Pick<ChoiceMenuProps, 'label' | 'value' | 'choices' | 'onChange'>;

/** The choices themselves, for a menu that holds more than these. */
export function Choices({ label, value, choices, onChange }: ChoicesProps) {
  // A link may carry a value that is not among the choices; it is still shown.
  const all = value === '' || choices.some((choice) => choice.value === value) ? choices : [...choices, named(value)];
  return (
    <Menu.RadioGroup aria-label={label} value={value} onValueChange={(next) => onChange(String(next))}>
      {all.map((choice) => (
        <Menu.RadioItem key={choice.value} value={choice.value} closeOnClick className="menu-item">
          <span className="grid size-4 place-items-center text-accent">
            <Menu.RadioItemIndicator>
              <Check aria-hidden="true" className="size-4" />
            </Menu.RadioItemIndicator>
          </span>
          <span className="min-w-0 wrap-anywhere">{choice.label}</span>
        </Menu.RadioItem>
      ))}
    </Menu.RadioGroup>
  );
}

export const named = (name: string): Choice => ({ value: name, label: name });

type PopupProps = {
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
  readonly side?: 'top' | 'bottom' | 'inline-end';
};

/** Where a menu stands. */
export function Popup({ children, align = 'start', side = 'bottom' }: PopupProps) {
  return (
    <Menu.Portal>
      <Menu.Positioner sideOffset={6} align={align} side={side} collisionPadding={8} className="z-50 outline-none">
        <Menu.Popup className="popup">{children}</Menu.Popup>
      </Menu.Positioner>
    </Menu.Portal>
  );
}
