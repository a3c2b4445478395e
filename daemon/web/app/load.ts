import { useCallback, useEffect, useRef, useState } from 'react'
import { reloadCount } from './session.ts'

/** Something that is read from the server: the last that came, whether more is coming, and why it did not come. */
export interface Loaded<T> {
  value: T | undefined
  error: unknown
  isLoading: boolean
  /** Reads it again. What is there stays until the new one comes. */
  reload: () => Promise<void>
  /** Puts in what the server has just answered to a change. */
  set: (value: T) => void
}

/** Reads something now, whenever one of `of` changes, and when all is read anew; an answer that comes too late is dropped. */
export function useLoad<T>(read: () => Promise<T>, of: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; isLoading: boolean }>({ isLoading: true })
  const turn = useRef(0)
  const latest = useRef(read)
  latest.current = read
  const reload = useCallback(async () => {
    const mine = ++turn.current
    setState(before => ({ ...before, isLoading: true }))
    try {
      const value = await latest.current()
      if (mine === turn.current) setState({ value, isLoading: false })
    } catch (error) {
      if (mine === turn.current) setState(before => ({ ...before, error, isLoading: false }))
    }
  }, [])
  useEffect(() => reloadCount.subscribe(() => void reload()), [])
  useEffect(() => {
    setState({ isLoading: true })
    void reload()
    return () => {
      turn.current++
    }
    // The caller says of what it depends.
  }, of)
  const set = useCallback((value: T) => setState({ value, isLoading: false }), [])
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload, set }
}
