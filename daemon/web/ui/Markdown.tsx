import type { Token } from 'markdown-it'
import { createElement, Fragment, memo, useEffect, useMemo, useRef, type ReactNode } from 'react'
import { splitReferences } from '../../../src/boardModel/cardReferences.ts'
import { showError } from '../app/messages.ts'
import { client } from '../app/session.ts'
import { Store, useStore } from '../app/store.ts'
import { findTasks, toggleTask, type Task } from './taskList.ts'
import { CardReference } from './CardReference.tsx'
import { plainText } from './plainText.ts'
import { saveFile } from './saveFile.ts'
import { tooltip } from './tooltip.ts'

type Parse = (text: string) => Token[]

const parser = new Store<Parse | undefined>(undefined)
let isLoading = false

/** The parser is larger than its callers, so it is loaded after the page. Raw HTML and bare addresses stay text. */
async function loadParser(): Promise<void> {
  if (isLoading) return
  isLoading = true
  try {
    const { default: MarkdownIt } = await import('markdown-it')
    const markdown = new MarkdownIt({ html: false, linkify: false, typographer: false })
    // All links are parsed. The renderer decides which ones are clickable.
    markdown.validateLink = () => true
    parser.set(text => markdown.parse(text, {}))
  } catch {
    isLoading = false
  }
}

interface MarkdownProps {
  text: string
  breaks?: boolean
  /** Saves the text after a task (`- [ ]`) is checked or unchecked. Without it, tasks cannot be changed. */
  onEdit?: (text: string) => void
}

/** Renders Markdown of a person or an agent as elements: no HTML, no external images, no scripts in links. */
export const Markdown = memo(function Markdown({ text, breaks = false, onEdit }: MarkdownProps) {
  const parse = useStore(parser)
  const edit = useRef(onEdit)
  edit.current = onEdit
  const canEdit = onEdit !== undefined
  useEffect(() => void loadParser(), [])
  const content = useMemo(() => {
    const plain = plainText(text)
    if (!parse) return <p className="as-typed">{plain}</p>
    const onTask = (line: number) => edit.current?.(toggleTask(text, line))
    return renderTokens(findTasks(parse(plain)), breaks, canEdit ? onTask : undefined)
  }, [parse, text, breaks, canEdit])
  return <div className="markdown">{content}</div>
})

interface Open {
  token: Token
  children: ReactNode[]
}

/** Builds a tree from the flat list of opening and closing tokens. */
function renderTokens(tokens: readonly Token[], breaks: boolean, onTask?: (line: number) => void): ReactNode {
  const top: ReactNode[] = []
  const open: Open[] = []
  const put = (node: ReactNode) => (open.at(-1)?.children ?? top).push(node)
  tokens.forEach((token, key) => {
    if (token.nesting > 0) open.push({ token, children: [] })
    else if (token.nesting < 0) {
      const ended = open.pop()
      if (ended) put(element(ended, key, onTask))
    } else if (token.type === 'text' && open.every(({ token: { tag } }) => tag !== 'a'))
      put(withReferences(token.content, key))
    else put(leaf(token, key, breaks))
  })
  return top
}

/** A text whose references to cards are links. */
const withReferences = (text: string, key: number): ReactNode => {
  const parts = splitReferences(text)
  if (parts.length === 1 && parts[0] === text) return text
  return (
    <Fragment key={key}>
      {parts.map((part, at) => (typeof part === 'string' ? part : <CardReference key={at} cardId={part.cardId} />))}
    </Fragment>
  )
}

function leaf(token: Token, key: number, breaks: boolean): ReactNode {
  switch (token.type) {
    case 'inline':
      return renderTokens(token.children ?? [], breaks)
    case 'text':
      return token.content
    case 'softbreak':
      return breaks ? <br key={key} /> : ' '
    case 'hardbreak':
      return <br key={key} />
    case 'code_inline':
      return <code key={key}>{token.content}</code>
    case 'fence':
    case 'code_block':
      return (
        <pre key={key}>
          <code>{token.content}</code>
        </pre>
      )
    case 'hr':
      return <hr key={key} />
    case 'image':
      return <Followed key={key} href={attribute(token, 'src')} text={token.content || 'picture'} />
    default:
      return token.content
  }
}

const same: ReadonlySet<string> = new Set([
  'p',
  'ul',
  'blockquote',
  'table',
  'thead',
  'tbody',
  'tr',
  'em',
  'strong',
  's',
])

function element({ token, children }: Open, key: number, onTask?: (line: number) => void): ReactNode {
  const { tag } = token
  if (token.hidden) return <span key={key}>{children}</span>
  if (tag === 'ol') return <ol key={key} start={Number(attribute(token, 'start') ?? 1)} children={children} />
  if (tag === 'li' && token.meta)
    return <TaskItem key={key} {...(token.meta as Task)} onTask={onTask} children={children} />
  if (tag === 'li') return <li key={key} children={children} />
  if (tag === 'a') return <Followed key={key} href={attribute(token, 'href')} text={children} />
  if (tag === 'th' || tag === 'td') {
    const align = /text-align:(left|center|right)/.exec(attribute(token, 'style') ?? '')?.[1]
    return createElement(tag, { key, style: align && { textAlign: align } }, children)
  }
  // Headings in the text are not headings of the page.
  if (/^h[1-6]$/.test(tag)) return <p key={key} className={`heading ${tag}`} children={children} />
  return same.has(tag) ? createElement(tag, { key }, children) : <span key={key} children={children} />
}

/** An item of a task list. */
function TaskItem({
  isDone,
  line,
  label,
  onTask,
  children,
}: Task & { onTask?: (line: number) => void; children: ReactNode }) {
  return (
    <li className="task">
      <input
        type="checkbox"
        aria-label={label}
        checked={isDone}
        disabled={onTask === undefined}
        onChange={() => onTask?.(line)}
      />
      {children}
    </li>
  )
}

/** A link to an attachment, which is saved. */
function AttachmentLink({ attachmentId, text }: { attachmentId: string; text: ReactNode }) {
  const save = async () => saveFile(await client.attachments.download({ attachmentId }))
  return (
    <button type="button" className="link" onClick={() => void save().catch(showError)}>
      {text}
    </button>
  )
}

/** A link to another site, or its text if browsers should not open the target. */
function Followed({ href, text }: { href: string | undefined; text: ReactNode }) {
  const attachmentId = /^attachment:([1-9]\d{0,15})$/.exec(href ?? '')?.[1]
  if (attachmentId) return <AttachmentLink attachmentId={attachmentId} text={text} />
  if (!href || !/^(https?:\/\/|mailto:)/i.test(href)) return <span {...tooltip(href)}>{text}</span>
  return (
    <a href={href} rel="noreferrer" target="_blank" {...tooltip(href)}>
      {text}
    </a>
  )
}

function attribute(token: Token, name: string): string | undefined {
  const value = token.attrGet(name)
  return value === null || value === undefined ? undefined : String(value)
}
