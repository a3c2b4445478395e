import { useCallback, useSyncExternalStore } from 'react'

/** A value that changes, and those who are told of it. */
export class Store<T> {
  #value: T
  readonly #listeners = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  readonly get = (): T => this.#value

  readonly set = (value: T): void => {
    if (Object.is(value, this.#value)) return
    this.#value = value
    for (const listener of this.#listeners) listener()
  }

  readonly update = (change: (value: T) => T): void => this.set(change(this.#value))

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

/**
 * What is selected of a store, drawn anew when it changes.
 * @param select must give the same object for the same value: a part of it, not a new one
 */
export function useStore<T>(store: Store<T>): T
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S
export function useStore<T, S>(store: Store<T>, select?: (value: T) => S): T | S {
  const read = useCallback(() => (select ? select(store.get()) : store.get()), [store, select])
  return useSyncExternalStore(store.subscribe, read)
}
