import { Menu } from '@base-ui/react/menu'
import { useCallback, useState } from 'react'
import { showError } from '../app/messages.ts'
import { Icon } from './Icon.tsx'

/** One line of a menu; `separator` draws a line above it. */
export interface MenuItem {
  label: string
  run: () => void | Promise<unknown>
  /** The keys that do the same. */
  keys?: string
  isDanger?: boolean
  isDisabled?: boolean
  /** Whether the item is selected. Undefined if it cannot be selected. */
  isOn?: boolean
  separator?: boolean
}

/** A place for a menu: an element, or the pointer. */
export type MenuAnchor = Pick<Element, 'getBoundingClientRect'>

interface MenuListProps {
  label: string
  items: readonly MenuItem[]
  anchor: MenuAnchor
  /** Closes the menu, and returns the focus to its button unless the person has moved it. */
  onClose: (isFocusElsewhere?: boolean) => void
}

/** The open list of a menu. Arrow keys move through the menu, letters jump to an item, and Escape closes it. */
export function MenuList({ label, items, anchor, onClose }: MenuListProps) {
  const [isByKey] = useState(() => document.activeElement?.matches(':focus-visible'))
  // Otherwise, the first line would be highlighted below a pointer that is elsewhere.
  const focusFirst = useCallback((popup: HTMLElement | null) => {
    if (isByKey) popup?.querySelector<HTMLElement>('[role^=menuitem]')?.focus({ preventScroll: true })
  }, [])
  return (
    <Menu.Root open onOpenChange={(_, { reason }) => onClose(reason === 'focus-out')}>
      <Menu.Portal role="region" aria-label={label}>
        <Menu.Positioner anchor={anchor} align="start" sideOffset={4} collisionPadding={4}>
          <Menu.Popup
            ref={focusFirst}
            className="menu"
            aria-label={label}
            finalFocus={false}
            onKeyDown={event => {
              if (event.key !== 'Tab') return
              event.preventDefault()
              onClose()
            }}
          >
            {items.map(item => (
              <Line key={item.label} item={item} onClose={onClose} />
            ))}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  )
}

function Line({ item, onClose }: { item: MenuItem; onClose: () => void }) {
  const { label, keys, isOn, isDanger, isDisabled, separator, run } = item
  const line = {
    className: isDanger ? 'danger' : undefined,
    label,
    disabled: isDisabled,
    closeOnClick: false,
    onClick: () => {
      // A dialog that opens returns the focus to the button as well.
      onClose()
      void Promise.resolve(run()).catch(showError)
    },
    children: (
      <>
        <span>{label}</span>
        {isOn && <Icon name="check" />}
        {keys && <kbd>{keys}</kbd>}
      </>
    ),
  }
  return (
    <>
      {separator && <Menu.Separator className="separator" />}
      {isOn === undefined ? <Menu.Item {...line} /> : <Menu.CheckboxItem {...line} checked={isOn} />}
    </>
  )
}
