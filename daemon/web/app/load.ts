import { useCallback, useEffect, useRef, useState } from 'react'
import { reloadCount } from './session.ts'

/** A value that is read from the server: the last received value, the last error, and whether a read is in progress. */
export interface Loaded<T> {
  value: T | undefined
  error: unknown
  isLoading: boolean
  /** Reads the value again. The current one stays until the new one arrives. */
  reload: () => Promise<void>
  /** Sets the value that the server returned for a change. */
  set: (value: T) => void
}

/** Reads a value now, whenever a dependency in `of` changes, and after `reloadAll`. Responses to outdated reads are ignored. */
export function useLoad<T>(read: () => Promise<T>, of: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; isLoading: boolean }>({ isLoading: true })
  const requestNumber = useRef(0)
  const latest = useRef(read)
  latest.current = read
  const reload = useCallback(async () => {
    const ownNumber = ++requestNumber.current
    setState(before => ({ ...before, isLoading: true }))
    try {
      const value = await latest.current()
      if (ownNumber === requestNumber.current) setState({ value, isLoading: false })
    } catch (error) {
      if (ownNumber === requestNumber.current) setState(before => ({ ...before, error, isLoading: false }))
    }
  }, [])
  useEffect(() => reloadCount.subscribe(() => void reload()), [])
  useEffect(() => {
    setState({ isLoading: true })
    void reload()
    return () => {
      requestNumber.current++
    }
    // The caller lists the dependencies.
  }, of)
  const set = useCallback((value: T) => setState({ value, isLoading: false }), [])
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload, set }
}
