import { useLayoutEffect, useRef } from 'react'
import { rememberFocus } from '../app/keptFocus.ts'
import { dismiss, liveText, toasts } from '../app/messages.ts'
import { useStore } from '../app/store.ts'
import { Button } from './Button.tsx'

/** Shows the messages, and has the live region of the page. */
export function Toasts() {
  const shown = useStore(toasts)
  const text = useStore(liveText)
  const giveBack = useRef<() => void>(undefined)
  // The focus of a closed message would be lost.
  useLayoutEffect(() => {
    if (document.activeElement !== document.body) return
    giveBack.current?.()
    giveBack.current = undefined
  }, [shown])
  return (
    <>
      <div className="visually-hidden spoken" role="status" aria-live="polite">
        {text}
      </div>
      <section
        className="toasts"
        aria-label="Messages"
        onFocus={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget)) giveBack.current = rememberFocus(relatedTarget)
        }}
        onBlur={({ currentTarget, relatedTarget }) => {
          if (!currentTarget.contains(relatedTarget)) giveBack.current = undefined
        }}
      >
        {shown.map(({ id, text: message, isFailure, action }) => (
          <div key={id} className={isFailure ? 'toast failure' : 'toast'} role={isFailure ? 'alert' : 'status'}>
            <span>{message}</span>
            {action && (
              <Button
                onClick={() => {
                  dismiss(id)
                  action.run()
                }}
              >
                {action.label}
              </Button>
            )}
            <Button isPlain icon="close" label="Close message" onClick={() => dismiss(id)} />
          </div>
        ))}
      </section>
    </>
  )
}
