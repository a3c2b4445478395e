import type { Download } from '../../../src/client/transfer.browser.ts'

/** Saves a file from the server as a browser download. */
export function saveFile({ body, filename }: Pick<Download, 'body' | 'filename'>): void {
  const url = URL.createObjectURL(body)
  const link = document.createElement('a')
  link.href = url
  link.download = filename ?? 'download'
  link.click()
  // The browser reads it after the click has been handled.
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
