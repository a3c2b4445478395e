import { useEffect, useRef, useState } from 'react'
import type { Contract } from '../../../src/contract/index.ts'
import type { Output } from '../../../src/contract/route.ts'
import { announce, showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { useProjectEvents } from '../app/useProjectEvents.ts'
import { usePoll } from '../ui/usePoll.ts'
import { useCanWork } from './canWork.ts'
import { useOpened } from './openedCard.ts'

type Preview = Output<Contract['previews']['get']>

/** A quarter of the time after which the server ends a preview. A hidden page's timers come once a minute. */
const renewMs = 30_000
const readMs = 2000

/** A card's preview with live updates, and its actions. */
export interface OpenedPreview {
  preview: Preview | undefined
  isLive: boolean
  start(): Promise<void>
  stop(): Promise<void>
  /** Opens it in a new tab, with a ticket. The preview also continues while this page is hidden. */
  open(): Promise<void>
}

/**
 * Follows a card's preview while the component is mounted. A person who can run the preview keeps it alive by viewing it. A
 * preview that was started here ends when the component unmounts.
 */
export function usePreview(): OpenedPreview {
  const { projectId, cardId } = useOpened()
  const canWork = useCanWork(projectId)
  const [preview, setPreview] = useState<Preview>()
  const [isStartedHere, isOpened] = [useRef(false), useRef(false)]
  const place = { projectId, cardId }
  const read = async () => setPreview(await client.previews.get(place))
  const isLive = preview?.status === 'starting' || preview?.status === 'running'
  useProjectEvents(
    projectId,
    () => read().catch(() => undefined),
    ({ type, data }) => type === 'preview.updated' && isOf(data, cardId),
  )
  useEffect(() => {
    if (preview) announce(`Preview: ${preview.status}`)
  }, [preview?.status])
  usePoll(isLive, readMs, async () => document.hidden || read())
  usePoll(isLive && canWork, renewMs, async () => {
    if (!document.hidden || isOpened.current) setPreview(await client.previews.start(place))
  })
  useEffect(
    () => () => {
      if (isStartedHere.current) void client.previews.stop(place).catch(showError)
    },
    [projectId, cardId],
  )
  return {
    preview,
    isLive,
    start: async () => {
      isStartedHere.current = true
      setPreview(await client.previews.start(place))
    },
    stop: async () => {
      isStartedHere.current = false
      await client.previews.stop(place)
      await read()
    },
    open: async () => {
      isOpened.current = true
      await openTab(async () => (await client.previews.createTicket(place)).url)
    },
  }
}

/** Opens a tab immediately, because browsers block tabs that open after the click, and then loads the address in it. */
async function openTab(readUrl: () => Promise<string>): Promise<void> {
  const tab = window.open('about:blank', '_blank')
  if (!tab) throw new Error('The browser blocked the new tab. Allow this page to open tabs.')
  try {
    const url = await readUrl()
    tab.opener = null
    tab.location.replace(url)
  } catch (error) {
    tab.close()
    throw error
  }
}

const isOf = (data: unknown, cardId: string): boolean => (data as { cardId?: string }).cardId === cardId
