import { AlertDialog } from '@base-ui/react/alert-dialog'
import { Dialog as PlainDialog } from '@base-ui/react/dialog'
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { pathOf, restoreFocus, setReturnPath } from '../app/keptFocus.ts'
import { hrefOf, useRoute } from '../app/router.ts'
import { Button } from './Button.tsx'

interface DialogProps {
  title: string
  children: ReactNode
  /** Called for Escape, the backdrop, the cross, and another page. Without it the dialog cannot be left. */
  onClose?: () => void
  /** `alert`: a question that only its buttons and Escape answer; `wide`: for tables and long texts; `palette`: near the top. */
  kind?: 'alert' | 'wide' | 'palette'
}

/** A dialog above the page. It keeps the focus, and returns it to the element that had it before. */
export function Dialog({ title, children, onClose, kind }: DialogProps) {
  const { Root, Portal, Backdrop, Popup, Title } = kind === 'alert' ? AlertDialog : PlainDialog
  const popup = useRef<HTMLDivElement>(null)
  const [path] = useState(() => pathOf(document.activeElement))
  useEffect(() => () => restoreFocus(path), [])
  useLeaving(onClose)
  // The first in the dialog is the cross.
  const findFirst = (selector: string) => popup.current!.querySelector<HTMLElement>(`.content ${selector}`)
  return (
    <Root open onOpenChange={() => onClose?.()}>
      <Portal>
        <Backdrop className="backdrop" forceRender />
        <Popup
          ref={element => {
            popup.current = element
            setReturnPath(element, path)
          }}
          className={`dialog ${kind ?? ''}`}
          initialFocus={() =>
            findFirst(':is(input, textarea, [role=combobox]):not(:disabled, [hidden], [aria-hidden])') ??
            findFirst(':is(button, a[href]):not(:disabled)') ??
            true
          }
          finalFocus={false}
        >
          <header>
            <Title>{title}</Title>
            {onClose && kind !== 'alert' && <Button isPlain icon="close" label="Close" onClick={onClose} />}
          </header>
          <div className="content">{children}</div>
        </Popup>
      </Portal>
    </Root>
  )
}

/** Closes a dialog when the person goes to another page: the dialog is about the page that the person has left. */
function useLeaving(onClose: (() => void) | undefined): void {
  const place = hrefOf(useRoute())
  const opened = useRef(place)
  useEffect(() => {
    if (place !== opened.current) onClose?.()
  }, [place])
}
