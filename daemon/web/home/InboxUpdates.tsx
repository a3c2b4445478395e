import { useEffect } from 'react'
import { followInbox } from '../app/inbox.ts'
import { followMine } from '../app/live.ts'
import { showMessage } from '../app/messages.ts'
import { hrefOf, navigate } from '../app/router.ts'
import { notify } from './notify.ts'

/** Keeps the inbox current on every page, and shows notifications. Renders nothing. */
export function InboxUpdates() {
  useEffect(() => {
    const ends = [followInbox(), followMine(show)]
    return () => {
      for (const end of ends) end()
    }
  }, [])
  return null
}

/** The browser shows the notification if the page is hidden. Otherwise the page shows it, unless its card is open. */
const show: Parameters<typeof followMine>[0] = events => {
  for (const { type, data } of events) {
    if (type !== 'notification') continue
    const received = data as unknown as Parameters<typeof notify>[0]
    const { projectId, cardId, cardTitle, message } = received
    const open = () =>
      navigate(
        cardId === null ? { name: 'project', projectId, section: 'schedules' } : { name: 'card', projectId, cardId },
      )
    if (document.hidden) notify(received, open)
    else if (
      !location.hash.includes(`/${cardId}`) &&
      location.hash !== hrefOf({ name: 'home' }) &&
      location.hash !== ''
    )
      showMessage(`${cardTitle}: ${message}`, { label: 'Open', run: open })
  }
}
