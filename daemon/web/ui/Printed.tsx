import { useLayoutEffect, useRef } from 'react'
import { plainText } from './plainText.ts'

/** What a program has printed. Whoever is at its end stays there. */
export function Printed({ label, output, isCut }: { label: string; output: string; isCut: boolean }) {
  const box = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    const { current } = box
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight
  }, [output])
  if (output === '') return null
  return (
    <pre
      ref={box}
      className="printed"
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        isAtEnd.current = scrollTop + clientHeight >= scrollHeight - 4
      }}
    >
      {isCut && '…\n'}
      {plainText(output)}
    </pre>
  )
}
