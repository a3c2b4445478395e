import { useEffect } from 'react'
import { followMine } from '../app/live.ts'
import { showMessage } from '../app/messages.ts'
import { projects } from '../app/projects.ts'
import { hrefOf, navigate, useRoute } from '../app/router.ts'
import { reloadCount } from '../app/session.ts'
import { useStore } from '../app/store.ts'
import { waitingCount } from '../app/waitingCount.ts'
import { attention, countOf, followNotifications, followProjects, keepProjects, readAll } from './attention.ts'
import { notify } from './notify.ts'

/** The time without a visible page after which everything is reloaded. */
const maxAgeMs = 60_000

/** Counts the items in the person's inbox while another page is open, and shows notifications. Renders nothing. */
export function Attention() {
  const ids = useStore(projects)
    ?.map(({ id }) => id)
    .join(' ')
  useEffect(() => {
    if (ids !== undefined) keepProjects(ids === '' ? [] : ids.split(' '))
  }, [ids])
  const route = useRoute()
  const shown = 'projectId' in route ? route.projectId : undefined
  // Events of this project already arrive. Other projects are covered by notifications.
  useEffect(() => (shown === undefined ? undefined : followProjects([shown])), [shown])
  useEffect(() => {
    const count = () => waitingCount.set(countOf(attention.get()))
    const ends = [
      attention.subscribe(count),
      followNotifications(),
      followMine(show),
      whenBack(readAll),
      reloadCount.subscribe(readAll),
    ]
    count()
    return () => {
      for (const end of ends) end()
    }
  }, [])
  return null
}

/** Calls `read` when the person returns to the page after an absence. */
function whenBack(read: () => void): () => void {
  let leftAt = Date.now()
  const change = () => {
    if (document.hidden) leftAt = Date.now()
    else if (Date.now() - leftAt > maxAgeMs) read()
  }
  document.addEventListener('visibilitychange', change)
  return () => document.removeEventListener('visibilitychange', change)
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
