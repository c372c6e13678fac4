import type { Metadata } from 'next';
import type { ReactNode } from 'react';
import '@countersign/react/styles.css';
import './globals.css';

export const metadata: Metadata = { title: 'Countersign chat' };

export default function Layout({ children }: { readonly children: ReactNode }) {
  return (
    <html lang="en">
      <body>{children}</body>
    </html>
  );
}
