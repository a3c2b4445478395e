import { useEffect, useId, useRef, type ReactNode } from 'react'
import { rememberFocus } from '../app/keptFocus.ts'
import { Button } from './Button.tsx'

interface DialogProps {
  title: string
  children: ReactNode
  /** Escape, the backdrop and the cross. Without it the dialog cannot be left. */
  onClose?: () => void
  /** `side`: a panel at the window's end; `wide`: for tables and long texts; `palette`: near the top. */
  kind?: 'wide' | 'side' | 'palette'
}

/** A dialog above the page. The browser keeps the focus in the dialog and restores it afterwards. */
export function Dialog({ title, children, onClose, kind }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = ref.current!
    const giveBack = rememberFocus(document.activeElement, dialog)
    dialog.showModal()
    // The browser would give the focus to the cross, which comes first.
    dialog.querySelector<HTMLElement>('.content :is(input, select, textarea):not(:disabled, [hidden])')?.focus()
    return () => {
      dialog.close()
      giveBack()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      className={`dialog ${kind ?? ''}`}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        onClose?.()
      }}
      onMouseDown={event => {
        if (event.target === ref.current) onClose?.()
      }}
      onKeyDown={event => {
        // Keys of the board below are not pressed here.
        event.stopPropagation()
        // Browsers ask for `cancel` twice, and close the dialog without it then.
        if (event.key === 'Escape' && !onClose) event.preventDefault()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        {onClose && <Button isPlain icon="close" label="Close" onClick={onClose} />}
      </header>
      <div className="content">{children}</div>
    </dialog>
  )
}
