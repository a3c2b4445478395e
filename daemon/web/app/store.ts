import { useCallback, useSyncExternalStore } from 'react'

/** An observable value. */
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
 * Returns the selected part of a store and renders again when it changes.
 * @param select must return an identical object for an identical value: a part of it, not a new object
 */
export function useStore<T>(store: Store<T>): T
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S
export function useStore<T, S>(store: Store<T>, select?: (value: T) => S): T | S {
  const read = useCallback(() => (select ? select(store.get()) : store.get()), [store, select])
  return useSyncExternalStore(store.subscribe, read)
}
