import { combine } from '@atlaskit/pragmatic-drag-and-drop/combine'
import { draggable, dropTargetForElements } from '@atlaskit/pragmatic-drag-and-drop/element/adapter'
import { setCustomNativeDragPreview } from '@atlaskit/pragmatic-drag-and-drop/element/set-custom-native-drag-preview'
import { cardsText } from '../../../src/boardModel/changes.ts'
import { announce, showError } from '../app/messages.ts'
import { canChange, chosenCards, moveColumn } from './actions.ts'
import { moveBefore } from './changeCards.ts'
import { changeGroup } from './changeGroup.ts'
import type { BoardSession } from './boardSession.ts'
import { columnDrag, drag } from './drag.ts'

/** A column, or a column in a lane, that cards can be dropped in. */
interface DropTarget {
  columnId: string
  lane: string | undefined
  element: HTMLElement
  scroller: HTMLElement
  /** Returns the position for a height on the screen. */
  placeAt: (y: number) => number
}
const targets = new Set<DropTarget>()
let pointer = { x: 0, y: 0 }

/** Makes a card draggable with a mouse or by a long press. @returns a function that undoes this */
export function dragSource(element: HTMLElement, session: BoardSession, cardId: string): () => void {
  let isTouched = false
  const onTouch = () => (isTouched = true)
  const onMouse = ({ pointerType }: PointerEvent) => (isTouched = pointerType === 'touch')
  element.addEventListener('touchstart', onTouch, { passive: true })
  element.addEventListener('pointerdown', onMouse)
  return combine(
    draggable({
      element,
      canDrag: () => !isTouched && canChange(session.projectId),
      onGenerateDragPreview: ({ nativeSetDragImage }) => {
        const { length } = idsFrom(session, cardId)
        if (length > 1)
          setCustomNativeDragPreview({
            nativeSetDragImage,
            render: ({ container }) => container.append(previewOf(`${length} cards`)),
          })
      },
      onDragStart: () => beginDrag(session, cardId),
      onDrag: ({ location }) => dragOver(location.current.input.clientX, location.current.input.clientY),
      onDrop: ({ location }) => {
        dragOver(location.current.input.clientX, location.current.input.clientY)
        dropCards(location.current.dropTargets.length > 0)
      },
    }),
    longPress(element, session, cardId),
    () => {
      element.removeEventListener('touchstart', onTouch)
      element.removeEventListener('pointerdown', onMouse)
    },
  )
}

/** Registers a column as a drop target. @returns a function that removes it */
export function dropColumn(target: DropTarget): () => void {
  targets.add(target)
  return combine(dropTargetForElements({ element: target.element }), () => void targets.delete(target))
}

/** Makes a column draggable by its head. @returns a function that undoes this */
export function dragColumn(head: HTMLElement, session: BoardSession, columnId: string): () => void {
  const follow = (x: number) => {
    const siblings = [...head.closest('.column')!.parentElement!.children]
    const { columns } = session.currentBoard()
    const before = columns.find((_, at) => {
      const { left, right } = siblings[at]!.getBoundingClientRect()
      return x < (left + right) / 2
    })
    columnDrag.set({ columnId, before: before?.id })
  }
  const source = draggable({
    element: head,
    canDrag: () => canChange(session.projectId),
    onDrag: ({ location }) => follow(location.current.input.clientX),
    onDrop: ({ location }) => {
      follow(location.current.input.clientX)
      const before = columnDrag.get()?.before
      columnDrag.set(undefined)
      if (location.current.dropTargets.length > 0) moveColumn(session, columnId, before).catch(showError)
    },
  })
  return combine(source, dropTargetForElements({ element: head }))
}

const idsFrom = (session: BoardSession, cardId: string): string[] =>
  session.state.get().selected.has(cardId) ? chosenCards(session).map(({ id }) => id) : [cardId]

function beginDrag(session: BoardSession, cardId: string): void {
  const cardIds = idsFrom(session, cardId)
  drag.set({ session, cardIds })
  announce(`Dragging ${cardsText(cardIds.map(id => ({ id })))}`)
  requestAnimationFrame(scrollAtEdges)
}

function dragOver(x: number, y: number): void {
  pointer = { x, y }
  const now = drag.get()
  if (!now) return
  const target = targetAt(x, y)
  const at = target?.placeAt(y)
  if (now.over?.columnId === target?.columnId && now.over?.lane === target?.lane && now.over?.at === at) return
  drag.set({ ...now, over: target && { columnId: target.columnId, lane: target.lane, at: at! } })
}

/** A column reaches from the top to the bottom of the screen, except in lanes. */
const targetAt = (x: number, y: number): DropTarget | undefined =>
  [...targets].find(({ element, lane }) => {
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return x >= left && x <= right && (lane === undefined || (y >= top && y <= bottom))
  })

function dropCards(isInside: boolean): void {
  const now = drag.get()
  drag.set(undefined)
  if (!now?.over || !isInside) return announce('Not moved')
  const { session, cardIds, over: place } = now
  const column = session.column(place.columnId)
  const cards = cardIds.flatMap(id => session.card(id) ?? [])
  if (!column || cards.length === 0) return
  const lane = session.state.get().group && session.arrangement().lanes.find(({ key }) => key === place.lane)
  const list = lane?.cells.get(column.id) ?? column.found
  const after = column.found.slice(list.length === 0 ? 0 : column.found.indexOf(list.at(-1)!) + 1)
  const anchor = [...list.slice(place.at), ...after].find(id => !cardIds.includes(id))
  const joining = lane ? cards.filter(({ id }) => !lane.ids.includes(id)) : []
  if (joining.length > 0) changeGroup(session, joining, lane!)
  if (joining.length === 0 || joining.some(({ columnId }) => columnId !== column.id))
    moveBefore(session, cards, column, anchor)
}

const edge = 56
const speed = 14

/** Scrolls the column below the pointer, and the columns, while something is dragged near an edge. */
function scrollAtEdges(): void {
  const now = drag.get()
  if (!now) return
  requestAnimationFrame(scrollAtEdges)
  const { x, y } = pointer
  const column = now.over && targetAt(x, y)
  if (!column) return
  const { top, bottom } = column.scroller.getBoundingClientRect()
  const before = column.scroller.scrollTop
  column.scroller.scrollTop += push(y, top, bottom)
  const all = column.lane === undefined ? column.element.parentElement! : column.scroller
  const { left, right } = all.getBoundingClientRect()
  all.scrollLeft += push(x, left, right)
  if (column.scroller.scrollTop !== before) dragOver(x, y)
}

const push = (at: number, from: number, to: number): number =>
  at < from + edge
    ? -speed * Math.min(1, (from + edge - at) / edge)
    : at > to - edge
      ? speed * Math.min(1, (at - to + edge) / edge)
      : 0

const pressMs = 400
const slack = 10

/** Dragging by a long press, which not all touch browsers support natively. */
function longPress(element: HTMLElement, session: BoardSession, cardId: string): () => void {
  const onStart = (event: TouchEvent) => {
    const touch = event.touches[0]!
    if (!canChange(session.projectId) || event.touches.length > 1 || (event.target as HTMLElement).closest('button'))
      return
    const ends = new AbortController()
    const { signal } = ends
    let ghost: HTMLElement | undefined
    const timer = setTimeout(() => {
      beginDrag(session, cardId)
      navigator.vibrate?.(10)
      ghost = previewOf(element.querySelector('.card-title')?.textContent ?? '')
      ghost.classList.add('ghost')
      document.body.append(ghost)
      placeGhost(ghost, touch.clientX, touch.clientY)
    }, pressMs)
    const end = (isInside: boolean) => {
      clearTimeout(timer)
      ends.abort()
      ghost?.remove()
      if (ghost) dropCards(isInside)
    }
    const onMove = (moved: TouchEvent) => {
      const { clientX, clientY } = moved.touches[0]!
      if (!ghost) {
        if (Math.hypot(clientX - touch.clientX, clientY - touch.clientY) > slack) end(false)
        return
      }
      moved.preventDefault()
      placeGhost(ghost, clientX, clientY)
      dragOver(clientX, clientY)
    }
    document.addEventListener('touchmove', onMove, { passive: false, signal })
    document.addEventListener(
      'touchend',
      event => {
        // The click after it would open the card.
        if (ghost) event.preventDefault()
        end(true)
      },
      { passive: false, signal },
    )
    document.addEventListener('touchcancel', () => end(false), { signal })
    document.addEventListener('contextmenu', menu => menu.preventDefault(), { signal })
  }
  element.addEventListener('touchstart', onStart, { passive: true })
  return () => element.removeEventListener('touchstart', onStart)
}

function previewOf(text: string): HTMLElement {
  const preview = document.createElement('div')
  preview.className = 'drag-preview'
  preview.textContent = text
  return preview
}

const placeGhost = (ghost: HTMLElement, x: number, y: number) =>
  (ghost.style.transform = `translate(${x - 20}px, ${y - 20}px)`)
