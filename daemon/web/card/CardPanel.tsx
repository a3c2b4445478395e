import { useEffect, useRef, type KeyboardEvent, type PointerEvent } from 'react'
import { layers, rememberFocus } from '../app/keptFocus.ts'
import type { CardPart } from './CardTabs.tsx'
import { CardView } from './CardView.tsx'
import { changeLayout, useWidth } from './panelStates.ts'

interface CardPanelProps extends Pick<CardPart, 'show' | 'onPart'> {
  projectId: string
  cardId: string
  onClose: () => void
}

const usualWidth = 560
const minWidth = 340
const stepPx = 24

/** A card next to its board, with an adjustable width. */
export function CardPanel({ projectId, cardId, onClose, ...part }: CardPanelProps) {
  const panel = useRef<HTMLElement>(null)
  const width = useWidth(cardId) ?? usualWidth
  useEffect(() => {
    const giveBack = rememberFocus()
    panel.current!.focus({ preventScroll: true })
    return giveBack
  }, [])
  const resize = (to: number) =>
    changeLayout(projectId, cardId, { width: Math.round(Math.max(minWidth, Math.min(to, innerWidth - 80))) })
  return (
    <aside
      className="card-panel"
      aria-label="Card"
      ref={panel}
      tabIndex={-1}
      style={{ width }}
      onKeyDown={event => onKey(event, onClose)}
    >
      <Edge width={width} onWidth={resize} />
      <CardView key={cardId} projectId={projectId} cardId={cardId} onClose={onClose} {...part} />
    </aside>
  )
}

/** Board shortcuts do not apply in the card. Escape closes the card, unless there is typed text. */
function onKey(event: KeyboardEvent, onClose: () => void): void {
  if (event.ctrlKey || event.metaKey) return
  event.stopPropagation()
  if (event.key !== 'Escape' || event.defaultPrevented) return
  if ((event.target as Element).closest(`input, textarea, ${layers}`)) return
  onClose()
}

/** The edge of the panel, which is moved by dragging or with the arrow keys. */
function Edge({ width, onWidth }: { width: number; onWidth: (width: number) => void }) {
  const begin = useRef<{ x: number; width: number }>(undefined)
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    event.preventDefault()
    event.currentTarget.setPointerCapture(event.pointerId)
    begin.current = { x: event.clientX, width }
  }
  const onPointerMove = ({ clientX }: PointerEvent) => {
    if (begin.current) onWidth(begin.current.width + begin.current.x - clientX)
  }
  return (
    <div
      className="edge"
      role="separator"
      aria-orientation="vertical"
      aria-label="Width of the card"
      aria-valuenow={width}
      aria-valuemin={minWidth}
      aria-valuemax={innerWidth}
      tabIndex={0}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={() => (begin.current = undefined)}
      onPointerCancel={() => (begin.current = undefined)}
      onKeyDown={({ key }) => {
        if (key === 'ArrowLeft') onWidth(width + stepPx)
        if (key === 'ArrowRight') onWidth(width - stepPx)
      }}
    />
  )
}
