import { useEffect, useId, useRef, useState, type KeyboardEvent, type RefObject } from 'react'
import { Button } from './Button.tsx'
import { Icon, type IconName } from './Icon.tsx'
import { showError } from '../app/messages.ts'

/** One line of a menu; `separator` draws a line above it. */
export interface MenuItem {
  label: string
  run: () => void | Promise<unknown>
  icon?: IconName
  /** The keys that do the same. */
  keys?: string
  isDanger?: boolean
  isDisabled?: boolean
  /** Whether it is chosen, of one that can be. */
  isOn?: boolean
  separator?: boolean
}

/** A button with a list of actions below it. Arrows go through it, letters jump, Escape closes. */
export function Menu({
  label,
  items,
  icon = 'more',
  text,
  tabIndex,
}: {
  label: string
  /** The items, or a function that creates them when the menu opens. */
  items: readonly MenuItem[] | (() => readonly MenuItem[])
  icon?: IconName
  text?: string
  tabIndex?: number
}) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  const root = useRef<HTMLDivElement>(null)
  const close = () => {
    setOpen(false)
    root.current!.querySelector('button')!.focus()
  }
  return (
    <div className="menu" ref={root}>
      <Button
        isPlain={!text}
        icon={icon}
        label={label}
        tabIndex={tabIndex}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => setOpen(!isOpen)}
      >
        {text}
      </Button>
      {isOpen && (
        <MenuList
          id={id}
          label={label}
          items={typeof items === 'function' ? items() : items}
          root={root}
          onClose={close}
          onLeave={() => setOpen(false)}
        />
      )}
    </div>
  )
}

interface MenuListProps {
  id: string
  label: string
  items: readonly MenuItem[]
  /** The menu's button and this list. */
  root: RefObject<HTMLElement | null>
  /** Closes the menu and returns the focus to the button. */
  onClose: () => void
  /** Closes the menu after a click elsewhere, which has the focus. */
  onLeave: () => void
}

function MenuList({ id, label, items, root, onClose, onLeave }: MenuListProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    place(list.current!, root.current!.querySelector('button')!)
    list.current!.querySelector<HTMLElement>('[role^=menuitem]')?.focus()
    const closeOutside = ({ target }: Event) => {
      if (!root.current?.contains(target as Node)) onLeave()
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => document.removeEventListener('pointerdown', closeOutside)
  }, [])
  return (
    <div id={id} ref={list} popover="manual" role="menu" aria-label={label} onKeyDown={event => onKey(event, onClose)}>
      {items.map(item => (
        <button
          key={item.label}
          type="button"
          role={item.isOn === undefined ? 'menuitem' : 'menuitemcheckbox'}
          aria-checked={item.isOn}
          tabIndex={-1}
          className={[item.isDanger && 'danger', item.separator && 'separated'].filter(Boolean).join(' ')}
          disabled={item.isDisabled}
          onClick={() => {
            onClose()
            void Promise.resolve(item.run()).catch(showError)
          }}
        >
          <span>{item.label}</span>
          {item.isOn && <Icon name="check" />}
          {item.keys && <kbd>{item.keys}</kbd>}
        </button>
      ))}
    </div>
  )
}

/** Places the menu above the page, where it fits. */
function place(list: HTMLElement, button: HTMLElement): void {
  list.showPopover()
  const { left, right, top, bottom } = button.getBoundingClientRect()
  const { offsetWidth: width, offsetHeight: height } = list
  list.style.left = `${Math.max(4, left + width > innerWidth ? right - width : left)}px`
  list.style.top = `${bottom + height > innerHeight ? Math.max(4, top - height - 4) : bottom + 4}px`
}

function onKey(event: KeyboardEvent<HTMLDivElement>, close: () => void): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)')]
  const at = items.indexOf(document.activeElement as HTMLElement)
  const next = nextIndex(event.key, at, items)
  event.stopPropagation()
  if (event.key === 'Escape' || event.key === 'Tab') {
    event.preventDefault()
    close()
  } else if (next !== undefined) {
    event.preventDefault()
    items[next]?.focus()
  }
}

function nextIndex(key: string, at: number, items: readonly HTMLElement[]): number | undefined {
  if (key === 'ArrowDown') return (at + 1) % items.length
  if (key === 'ArrowUp') return (at - 1 + items.length) % items.length
  if (key === 'Home') return 0
  if (key === 'End') return items.length - 1
  if (key.length !== 1 || key === ' ') return undefined
  const starts = (item: HTMLElement) => item.textContent?.toLowerCase().startsWith(key.toLowerCase())
  const after = items.findIndex((item, index) => index > at && starts(item))
  return after >= 0 ? after : Math.max(0, items.findIndex(starts))
}
