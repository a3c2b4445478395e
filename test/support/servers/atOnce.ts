import { vi } from 'vitest'
import { type TestBoard } from './testBoard.ts'
import { eventually } from '../waiting/eventually.ts'

/** Sends writing requests so that all of them wait for their transaction before the first one gets it. */
export async function atOnce<T>({ server }: TestBoard, requests: ReadonlyArray<() => Promise<T>>): Promise<T[]> {
  const { db } = server.app
  const writers = vi.spyOn(db, 'transaction')
  const [begun, released] = [createGate(), createGate()]
  const held = db.transaction(() => {
    begun.open()
    return released.opened
  })
  await begun.opened
  const replies = Promise.all(requests.map(send => send()))
  await eventually('all writers to wait', () => writers.mock.calls.length > requests.length)
  writers.mockRestore()
  released.open()
  await held
  return replies
}

function createGate(): { opened: Promise<void>; open(): void } {
  let open = () => {}
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open }
}
