/** The properties of a file in the headers of its response. */
export interface FileHead {
  filename: string | undefined
  contentType: string
  size: number | undefined
  missing?: Missing
}
/** The number of attachments whose bytes are not in an export, and the unreachable machines that have them. */
interface Missing {
  files: number
  machines: string[]
}

/**
 * The header that distinguishes the board's response from another program's: a file has a name, a page or metrics a request ID.
 */
export const responseMarkers = { file: 'content-disposition', raw: 'x-request-id' }

export function fileOf(headers: Record<string, string | string[] | undefined>): FileHead {
  const filename = /filename\*=UTF-8''([^;]+)/.exec(String(headers['content-disposition']))?.[1]
  return {
    filename: filename && decodeURIComponent(filename),
    contentType: String(headers['content-type']),
    size: headers['content-length'] ? Number(headers['content-length']) : undefined,
    missing: missingOf(headers),
  }
}

function missingOf(headers: Record<string, string | string[] | undefined>): Missing | undefined {
  const files = Number(headers['x-board-missing-files'] ?? 0)
  return files > 0
    ? {
        files,
        machines: String(headers['x-board-missing-machines'] ?? '')
          .split(',')
          .filter(Boolean)
          .map(decodeURIComponent),
      }
    : undefined
}
