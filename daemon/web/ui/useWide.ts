import { useLayoutEffect, useState, type RefObject } from 'react'

/** Returns whether the element has at least this width. */
export function useWide(ref: RefObject<HTMLElement | null>, px: number): boolean {
  const [isWide, setWide] = useState(false)
  useLayoutEffect(() => {
    const element = ref.current!
    const measure = () => setWide(element.clientWidth >= px)
    measure()
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref, px])
  return isWide
}
