import { Component, type ReactNode, type RefObject } from 'react'

interface KeepPlaceProps {
  /** The id of the first message. */
  first: string | undefined
  scroller: RefObject<HTMLElement | null>
  children: ReactNode
}

/** Messages that come above the first one leave on the screen what is there. Only a class is asked before the change. */
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
    return (id && this.props.scroller.current?.querySelector(`[data-id="${Number(id)}"]`)) || undefined
  }
}
