import { useEffect, useRef, useState, type RefObject } from 'react'
import { flushSync } from 'react-dom'
import { pathOf, restoreFocus } from '../app/keptFocus.ts'
import { Button } from './Button.tsx'
import type { IconName } from './Icon.tsx'
import { lazyPart } from './lazyPart.tsx'
import type { MenuAnchor, MenuItem } from './MenuList.tsx'

export type { MenuItem }

const load = () => import('./MenuList.tsx')
const MenuList = lazyPart(load, 'MenuList', { isDialog: true })
// A failure is shown when the menu opens.
const preload = () => void load().catch(() => undefined)

interface MenuProps {
  label: string
  /** The items, or a function that creates them when the menu opens. */
  items: readonly MenuItem[] | (() => readonly MenuItem[])
  icon?: IconName
  text?: string
  /** Next to a primary button. */
  isMain?: boolean
  tabIndex?: number
  /** The element in which a right click opens the menu as well. */
  area?: RefObject<HTMLElement | null>
}

/** A button with a list of actions below it. A board has hundreds of them, so the list is created when it opens. */
export function Menu({ label, items, icon = 'more', text, isMain, tabIndex, area }: MenuProps) {
  const [anchor, setAnchor] = useState<MenuAnchor>()
  const button = useRef<HTMLButtonElement>(null)
  const opener = useRef<Element>(null)
  const openAt = (place: MenuAnchor) => {
    opener.current = area?.current?.contains(document.activeElement) ? document.activeElement : button.current
    setAnchor(place)
  }
  useEffect(() => {
    const open = (event: MouseEvent) => {
      // A long press on a touch screen drags. A field has the browser's menu.
      if (!matchMedia('(hover: hover)').matches || event.target instanceof HTMLInputElement) return
      event.preventDefault()
      openAt({ getBoundingClientRect: () => new DOMRect(event.clientX, event.clientY) })
    }
    const element = area?.current
    element?.addEventListener('contextmenu', open)
    return () => element?.removeEventListener('contextmenu', open)
  }, [area])
  const onClose = (isFocusElsewhere?: boolean) => {
    // An open list takes the focus back.
    flushSync(() => setAnchor(undefined))
    if (!isFocusElsewhere) restoreFocus(pathOf(opener.current))
  }
  return (
    <>
      <Button
        ref={button}
        className="menu-button"
        isPlain={!text && !isMain}
        isMain={isMain}
        icon={icon}
        label={label}
        tabIndex={tabIndex}
        aria-haspopup="menu"
        aria-expanded={anchor !== undefined}
        onPointerEnter={preload}
        onFocus={preload}
        onClick={() => openAt(button.current!)}
      >
        {text}
      </Button>
      {anchor && (
        <MenuList
          label={label}
          items={typeof items === 'function' ? items() : items}
          anchor={anchor}
          onClose={onClose}
        />
      )}
    </>
  )
}
