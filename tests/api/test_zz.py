from tests.api.test_hostile_values import *
from tests.api.test_hostile_values import world
import time, collections, logging, traceback, sys

LAST = ("DELETE",)
def order(r):
    word = r.path.rsplit("/",1)[-1]
    return (r.path.endswith("logout"), r.method=="DELETE" or word in ("kill","delete","cancel","remove-assignments") , r.path, r.method)

async def test_fuzz(world):
    seen=collections.OrderedDict()
    class H(logging.Handler):
        def emit(self, rec):
            if rec.exc_info:
                e=rec.exc_info[1]
                tb=traceback.extract_tb(rec.exc_info[2])
                ours=[f for f in tb if 'determined' in f.filename]
                place=f"{ours[-1].filename.split('/src/')[-1]}:{ours[-1].lineno}" if ours else '?'
                self.last=(type(e).__name__, str(e)[:150], place, [f"{f.filename.split('/')[-1]}:{f.lineno}" for f in ours[-5:]])
    h=H(); h.last=None
    logging.getLogger().addHandler(h)
    per=[]
    n=0
    routes=sorted((r for r in all_routes() if r.method not in ("WS","*")), key=order)
    slow=[]
    for r in routes:
        t0=time.perf_counter(); k=0
        stat=collections.Counter()
        for target, body in requests_to(world, r):
            k+=1
            h.last=None
            t1=time.perf_counter()
            try:
                a=await asyncio.wait_for(world.clients["admin"](r.method,target,body),3)
            except BaseException as e:
                print("EXC",r.method,target[:200],(body or b'')[:100],repr(e)[:300]); 
                seen.setdefault((r.method,r.path,type(e).__name__),(target[:100],(body or b"")[:200]))
                continue
            d=time.perf_counter()-t1
            if d>0.1: slow.append((d,r.method,target[:100],(body or b'')[:100]))
            stat[a.status]+=1
            if a.status>=500:
                key=(r.method,r.path,h.last and h.last[0],h.last and h.last[2]) if h.last else (r.method,r.path,a.status,a.body[:150])
                if key not in seen:
                    seen[key]=1
                    print("BAD",r.method,r.path,a.status,'|',target[len(r.path)-5:150],'|',(body or b'')[:150],'|',h.last or a.body[:200]); sys.stdout.flush()
            if a.status in (401,) : print("401!", r.method, r.path); 
        per.append((time.perf_counter()-t0,k,r.method,r.path,dict(stat))); n+=k
    print("TOTAL",n,sum(p[0] for p in per))
    for p in sorted(per,reverse=True)[:15]: print(p)
    print("SLOW"); 
    for x in sorted(slow,reverse=True)[:15]: print(x)
    print("NO200", [(p[2],p[3],p[4]) for p in per if 200 not in p[4]])
