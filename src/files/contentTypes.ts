import { extname } from 'node:path'

/** The number of bytes at the start of a file that are needed to detect its type. */
export const sniffedBytes = 4100

const unknown = 'application/octet-stream'
/** Types that no program executes: images, sound, video, fonts, archives and documents. */
const passive =
  /^((image|audio|video|font)\/(?!svg)[\w.+-]+|application\/(pdf|ogg|zip|gzip|x-tar|x-bzip2|x-xz|zstd|x-7z-compressed|x-zip-compressed|vnd\.rar|epub\+zip|rtf|vnd\.sqlite3|vnd\.apache\.(parquet|arrow\.file)|vnd\.openxmlformats-officedocument\.[\w.-]+|vnd\.oasis\.opendocument\.[\w.-]+))$/
/** Text types that a browser would execute are served as plain text. */
const textTypes: Record<string, string> = {
  '.md': 'text/markdown',
  '.markdown': 'text/markdown',
  '.csv': 'text/csv',
  '.tsv': 'text/tab-separated-values',
  '.json': 'application/json',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  ...Object.fromEntries(
    [
      'txt',
      'text',
      'log',
      'diff',
      'patch',
      'ini',
      'conf',
      'cfg',
      'env',
      'toml',
      'rst',
      'adoc',
      'tex',
      'html',
      'htm',
      'xhtml',
      'xml',
      'svg',
      'css',
      'js',
      'mjs',
      'cjs',
      'jsx',
      'ts',
      'tsx',
      'mts',
      'py',
      'rb',
      'go',
      'rs',
      'java',
      'kt',
      'c',
      'h',
      'cc',
      'cpp',
      'hpp',
      'cs',
      'php',
      'pl',
      'swift',
      'scala',
      'lua',
      'r',
      'sh',
      'bash',
      'zsh',
      'fish',
      'ps1',
      'bat',
      'sql',
      'graphql',
      'proto',
      'vue',
      'svelte',
    ].map(name => [`.${name}`, 'text/plain']),
  ),
}

/**
 * Detects a file's content type by its first bytes, or for plain text by its name. Ignores the client's content type, and never
 * returns types that a browser might execute.
 */
export async function contentTypeOf(start: Buffer, filename: string): Promise<string> {
  const { fileTypeFromBuffer } = await import('file-type')
  const mime = await fileTypeFromBuffer(start).then(
    type => type?.mime.split(';')[0]!.toLowerCase(),
    () => undefined,
  )
  if (mime !== undefined && passive.test(mime)) return mime
  if (mime !== undefined && mime !== 'application/xml') return unknown
  return isText(start) ? (textTypes[extname(filename).toLowerCase()] ?? unknown) : unknown
}

/** UTF-8 without NUL. The last character can be cut. */
function isText(start: Buffer): boolean {
  if (start.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(start, { stream: true })
    return true
  } catch {
    return false
  }
}
