import { vi } from 'vitest'
import { type TestBoard } from './testBoard.ts'
import { eventually } from '../waiting/eventually.ts'

/** Sends writing requests so that all of them wait for their transaction before the first one gets it. */
export async function atOnce<T>({ server }: TestBoard, requests: ReadonlyArray<() => Promise<T>>): Promise<T[]> {
  const { db } = server.app
  const writers = vi.spyOn(db, 'transaction')
  let release = () => {}
  const held = db.transaction(
    () =>
      new Promise<void>(resolve => {
        release = resolve
      }),
  )
  const replies = Promise.all(requests.map(send => send()))
  await eventually('all writers to wait', () => writers.mock.calls.length > requests.length)
  writers.mockRestore()
  release()
  await held
  return replies
}
