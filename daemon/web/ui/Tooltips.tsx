import { useEffect, useState } from 'react'
import { lazyPart } from './lazyPart.tsx'

const TooltipPopup = lazyPart(() => import('./TooltipPopup.tsx'), 'TooltipPopup', { isDialog: true })

const openAfterMs = 500
/** After a tooltip closes, the next one opens at once within this time. */
const warmMs = 300
/** The time to move the pointer from an element to its tooltip. */
const closeAfterMs = 100

/** Shows the tooltip of the element below the pointer, or of the element with the focus. Touch screens show none. */
export function Tooltips() {
  const [anchor, setAnchor] = useState<HTMLElement>()
  useEffect(() => followAnchor(setAnchor), [])
  return anchor && <TooltipPopup anchor={anchor} onClose={() => setAnchor(undefined)} />
}

/** Calls `show` with the element whose tooltip is open. @returns a function that stops it */
function followAnchor(show: (anchor: HTMLElement | undefined) => void): () => void {
  let wanted: HTMLElement | undefined
  let shown: HTMLElement | undefined
  let closedAt = -Infinity
  let timer: ReturnType<typeof setTimeout> | undefined
  const set = () => {
    if (shown && !wanted) closedAt = performance.now()
    shown = wanted?.matches(':hover, :focus-visible') ? wanted : undefined
    show(shown)
  }
  const want = (target: EventTarget | null) => {
    if (target instanceof Element && target.closest('.tooltip')) return clearTimeout(timer)
    const next = (target instanceof Element && target.closest<HTMLElement>('[data-tooltip]')) || undefined
    if (next === wanted && next === shown) return clearTimeout(timer)
    if (next === wanted) return
    wanted = next
    clearTimeout(timer)
    const isWarm = shown !== undefined || performance.now() - closedAt < warmMs
    timer = setTimeout(set, !next ? closeAfterMs : isWarm ? 0 : openAfterMs)
  }
  const close = () => {
    clearTimeout(timer)
    wanted = undefined
    if (shown) set()
  }
  const listeners = new AbortController()
  const on = (type: string, listener: (event: never) => void) =>
    document.addEventListener(type, listener as EventListener, {
      capture: true,
      passive: true,
      signal: listeners.signal,
    })
  on('pointerover', ({ pointerType, target }: PointerEvent) => pointerType === 'mouse' && want(target))
  on('pointerout', ({ relatedTarget }: PointerEvent) => relatedTarget === null && close())
  on('focusin', ({ target }: FocusEvent) => (target as Element).matches(':focus-visible') && want(target))
  for (const type of ['focusout', 'pointerdown', 'keydown']) on(type, close)
  // A page that scrolls below the pointer reports the element first, and the scrolling later.
  on('scroll', () => shown && close())
  return () => listeners.abort()
}
