import { Component, type ReactNode, type RefObject } from 'react'

interface KeepPlaceProps {
  /** The ID of the first line. */
  first: string | undefined
  scroller: RefObject<HTMLElement | null>
  children: ReactNode
}

/**
 * Keeps the scroll position when older messages are added above. A class, because only classes can read the layout
 * before an update.
 */
export class KeepPlace extends Component<KeepPlaceProps> {
  override getSnapshotBeforeUpdate(before: KeepPlaceProps): number | null {
    if (before.first === this.props.first) return null
    return this.#find(before.first)?.getBoundingClientRect().top ?? null
  }

  override componentDidUpdate(before: KeepPlaceProps, _: unknown, top: number | null): void {
    const element = top === null ? undefined : this.#find(before.first)
    if (element) this.props.scroller.current!.scrollTop += element.getBoundingClientRect().top - top!
  }

  override render(): ReactNode {
    return this.props.children
  }

  #find(id: string | undefined): Element | undefined {
    return (id && this.props.scroller.current?.querySelector(`[data-id="${CSS.escape(id)}"]`)) || undefined
  }
}
