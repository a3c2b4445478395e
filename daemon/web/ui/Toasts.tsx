import { Toast } from '@base-ui/react/toast'
import { useEffect } from 'react'
import { liveState } from '../app/live.ts'
import { dismissUnanswered, liveText, messages } from '../app/messages.ts'
import { hrefOf, useRoute } from '../app/router.ts'
import { useStore } from '../app/store.ts'
import { Icon } from './Icon.tsx'

const shownMs = 7000

/** Shows the newest messages, and has the live region of the page. */
export function Toasts() {
  const text = useStore(liveText)
  return (
    <>
      <div className="visually-hidden spoken" role="status" aria-live="polite">
        {text}
      </div>
      <Toast.Provider toastManager={messages} limit={2} timeout={shownMs}>
        <Toast.Portal>
          <Toast.Viewport className="toasts" aria-label="Messages">
            <Shown />
          </Toast.Viewport>
        </Toast.Portal>
      </Toast.Provider>
    </>
  )
}

function Shown() {
  const { toasts, close } = Toast.useToastManager()
  const place = hrefOf(useRoute())
  const connection = useStore(liveState)
  // The errors are about the page that the person has left.
  useEffect(() => toasts.filter(({ type }) => type === 'failure').forEach(({ id }) => close(id)), [place])
  useEffect(() => {
    if (connection === 'open') dismissUnanswered()
  }, [connection])
  return toasts.map(toast => (
    <Toast.Root
      key={toast.id}
      toast={toast}
      className={`toast ${toast.type ?? ''}`}
      role={toast.type === 'failure' ? 'alert' : 'status'}
      aria-modal={undefined}
      tabIndex={-1}
      swipeDirection={['up', 'right']}
    >
      <Toast.Description />
      {toast.actionProps && <Toast.Action className="button" />}
      <Toast.Close className="button plain square" aria-label="Close message" aria-hidden={undefined}>
        <Icon name="close" />
      </Toast.Close>
    </Toast.Root>
  ))
}
