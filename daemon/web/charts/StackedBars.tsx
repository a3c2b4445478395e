import { useEffect, useId, useRef, useState } from 'react'
import type { Chart } from './days.ts'

interface StackedBarsProps extends Chart {
  /** The subject of the chart, which also names its table. */
  title: string
  format: (value: number) => string
  /** The minimum height of the axis. */
  minTop?: number
}

const height = 200
const marginLeft = 52
const marginBottom = 22
const marginTop = 8
/** The text for a day without values. */
const unknown = 'not recorded'

/** A bar per day with stacked series, which differ in color and pattern, and a table of the same values. */
export function StackedBars({ title, series, points, looks, format, minTop = 2 }: StackedBarsProps) {
  const id = useId().replace(/[^\w-]/g, '')
  const [box, width] = useWidth()
  const totals = points.map(({ values }) => sum(values ?? []))
  const top = roundedTop(Math.max(...totals, minTop))
  const inner = Math.max(40, width - marginLeft - 4)
  const step = inner / points.length
  const y = (value: number) => marginTop + (height - marginTop - marginBottom) * (1 - value / top)
  const fills = series.map((_, at) => `url(#${id}-${(looks?.[at] ?? at) % patternPaths.length})`)
  const describe = (values: readonly number[] | undefined) =>
    values ? series.map((name, at) => `${name} ${format(values[at]!)}`).join(', ') : unknown
  const summary = `${title}. Last: ${describe(points.at(-1)?.values)}. The table below lists every day.`
  return (
    <div className="chart" ref={box}>
      {series.length > 1 && <Legend fills={fills} series={series} />}
      <svg role="img" aria-label={summary} width={width} height={height}>
        <Patterns id={id} />
        {[0, top / 2, top].map(value => (
          <g key={value}>
            <line className="grid" x1={marginLeft} x2={marginLeft + inner} y1={y(value)} y2={y(value)} />
            <text x={marginLeft - 6} y={y(value) + 4} textAnchor="end">
              {format(value)}
            </text>
          </g>
        ))}
        {points.map(({ day, values }, at) => (
          <Bar
            key={day}
            fills={fills}
            x={marginLeft + at * step + (step > 4 ? 1 : 0)}
            width={Math.max(1, step - (step > 4 ? 2 : 0))}
            y={y}
            values={values}
            title={`${day}: ${describe(values)}`}
          />
        ))}
        {[0, points.length - 1].map(at => (
          <text
            key={at}
            x={at === 0 ? marginLeft : marginLeft + inner}
            y={height - 5}
            textAnchor={at === 0 ? 'start' : 'end'}
          >
            {points[at]?.day}
          </text>
        ))}
      </svg>
      <Table title={title} series={series} points={points} format={format} />
    </div>
  )
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)

/** Returns the next round number whose half is also round, so that the axis is readable. */
function roundedTop(max: number): number {
  const power = 10 ** Math.floor(Math.log10(max))
  return [1, 2, 4, 6, 8, 10].map(factor => factor * power).find(value => value >= max)!
}

function useWidth() {
  const box = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(600)
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)))
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  return [box, width] as const
}

interface BarProps {
  fills: readonly string[]
  x: number
  width: number
  y: (value: number) => number
  values: readonly number[] | undefined
  title: string
}

function Bar({ fills, x, width, y, values = [], title }: BarProps) {
  let under = 0
  return (
    <g>
      <title>{title}</title>
      <rect className="hover-area" x={x} width={width} y={marginTop} height={height - marginTop - marginBottom} />
      {values.map((value, at) => {
        const from = under
        under += value
        return (
          value > 0 && (
            <rect key={at} x={x} width={width} y={y(under)} height={Math.max(1, y(from) - y(under))} fill={fills[at]} />
          )
        )
      })}
    </g>
  )
}

/** The lines of each pattern over its color, so that series differ in print and for color-blind people. */
const patternPaths = [
  undefined,
  'M0 8 8 0M-2 2 2-2M6 10l4-4',
  'M0 4h8',
  'M4 0v8',
  'M0 0l8 8M-2 6l4 4M6-2l4 4',
  'M0 4h8M4 0v8',
  'M0 0l8 8M0 8 8 0',
  'M4 2v4',
]

const Patterns = ({ id }: { id: string }) => (
  <defs>
    {patternPaths.map((path, at) => (
      <pattern key={at} id={`${id}-${at}`} width="8" height="8" patternUnits="userSpaceOnUse">
        <rect className={`ground ground-${at}`} width="8" height="8" />
        {path && <path className="mark" d={path} />}
      </pattern>
    ))}
  </defs>
)

const Legend = ({ fills, series }: { fills: readonly string[]; series: readonly string[] }) => (
  <ul className="legend">
    {series.map((name, at) => (
      <li key={name}>
        <svg width="16" height="16" aria-hidden="true">
          <rect className="key" width="16" height="16" fill={fills[at]} />
        </svg>
        {name}
      </li>
    ))}
  </ul>
)

function Table({ title, series, points, format }: StackedBarsProps) {
  return (
    <details>
      <summary>{title} as a table</summary>
      <div className="scroll-x" tabIndex={0} role="region" aria-label={`${title}, table`}>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Day</th>
              {series.map(name => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {points.toReversed().map(({ day, values }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                {values ? (
                  values.map((value, at) => <td key={series[at]}>{format(value)}</td>)
                ) : (
                  <td colSpan={series.length}>{unknown}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  )
}
