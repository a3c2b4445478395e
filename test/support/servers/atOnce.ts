import { vi } from 'vitest'
import { type TestBoard } from './testBoard.ts'
import { eventually } from '../waiting/eventually.ts'

/** Sends requests that write so that every one of them has been let in before the first one writes. */
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
